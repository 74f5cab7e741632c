// A lower bound on every order of a pipeline's passes.
#ifndef EVENKEEL_PLANNER_SIMULATE_PIPELINE_BOUND_H_
#define EVENKEEL_PLANNER_SIMULATE_PIPELINE_BOUND_H_

#include <cstdint>

#include "planner/simulate/pipeline.h"

namespace evenkeel::planner {

// Returns a lower bound, in ns, on the end of the last pass of `spec` under every schedule. No
// micro-batch goes through and back faster than its own passes and p2p. No stage is done before the
// quickest way to it, all its work, and the quickest way back from its last backward (after which
// kZeroBubble may leave weight gradients of any stage). For equal micro-batches under 1F1B this is
// max(sum_s (f_s + b_s + 2 send_s), max_s [sum_{i<s} (f_i + b_i + 2 send_i) + m (f_s + b_s)]).
int64_t PipelineLowerBound(const PipelineSpec& spec);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_PIPELINE_BOUND_H_
