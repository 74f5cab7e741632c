// What no order of a pipeline's passes can beat.
#ifndef EVENKEEL_PLANNER_SIMULATE_PIPELINE_BOUND_H_
#define EVENKEEL_PLANNER_SIMULATE_PIPELINE_BOUND_H_

#include <cstdint>

#include "planner/simulate/pipeline.h"

namespace evenkeel::planner {

// The last pass of `spec` ends no sooner, ns, whatever the schedule: no micro-batch goes through
// and back faster than its own passes and p2p; and no stage is done before the quickest way to it,
// all its work, and the quickest way back from its last backward (behind which kZeroBubble may
// leave weight gradients of any stage). Of equal micro-batches under 1F1B: max(sum_s (f_s + b_s + 2
// send_s), max_s [sum_{i<s} (f_i + b_i + 2 send_i) + m (f_s + b_s)]).
int64_t PipelineLowerBound(const PipelineSpec& spec);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_PIPELINE_BOUND_H_
