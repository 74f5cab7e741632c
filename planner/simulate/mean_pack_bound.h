// Lower bounds on the simulation of mean packs, to prune a cut without it.
#ifndef EVENKEEL_PLANNER_SIMULATE_MEAN_PACK_BOUND_H_
#define EVENKEEL_PLANNER_SIMULATE_MEAN_PACK_BOUND_H_

#include <cstdint>
#include <vector>

#include "planner/job.h"
#include "planner/simulate/schedule.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// Returns a lower bound, in ns, on the end of the last pass of equal, mean packs that run in the
// order of the shape's schedule: docs/ALGORITHMS.md, "Bounds".
int64_t MeanPacksAtLeast(const PipelineShape& shape, const std::vector<StageWork>& segments);

// Returns a lower bound on total_ns of MeanPackStep with the same arguments.
int64_t MeanPackStepAtLeast(const Job& job, const PipelineShape& shape,
                            const std::vector<StageWork>& segments, StepCache& cache,
                            int64_t events);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_MEAN_PACK_BOUND_H_
