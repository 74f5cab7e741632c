// The exchange between data-parallel ranks around the passes of a step: parameters before,
// gradients after.
#ifndef EVENKEEL_PLANNER_SIMULATE_DATA_PARALLEL_H_
#define EVENKEEL_PLANNER_SIMULATE_DATA_PARALLEL_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/simulate/pipeline_run.h"

namespace evenkeel::planner {

// When the gradients of a chunk are available, in ns.
struct GradientsReady {
  int64_t first_bucket_ns = 0;
  int64_t all_ns = 0;
  void UntilAlso(const GradientsReady& other) {
    first_bucket_ns = std::max(first_bucket_ns, other.first_bucket_ns);
    all_ns = std::max(all_ns, other.all_ns);
  }
};

// Returns when a chunk's gradients are available if its last pass runs from start to end.
GradientsReady ReadyAt(const PipelineSpec& spec, size_t unit, int64_t start_ns, int64_t end_ns);

// Returns when each chunk's parameters are gathered, element stage x chunks + chunk; empty if none
// are.
std::vector<Span> GatherSpans(const PipelineSpec& spec);

// Returns when the gradients of each stage are reduced if its last pass ends at ends[stage].
// `gradients` is as in FinishStep.
std::vector<int64_t> SyncedByStage(const PipelineSpec& spec,
                                   const std::vector<GradientsReady>& gradients,
                                   const std::vector<int64_t>& ends);

// Completes the runs of all ranks, whose passes are already simulated: gradient reduction,
// optimizer, idle times. `gradients` are those of the slowest rank, element stage x chunks + chunk.
void FinishStep(const PipelineSpec& spec, const std::vector<GradientsReady>& gradients,
                RanksRun* run);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_DATA_PARALLEL_H_
