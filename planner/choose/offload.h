// What is offloaded to host memory, where the planner chooses it.
#ifndef EVENKEEL_PLANNER_CHOOSE_OFFLOAD_H_
#define EVENKEEL_PLANNER_CHOOSE_OFFLOAD_H_

#include <optional>

#include "planner/job.h"
#include "planner/plan_hooks.h"

namespace evenkeel::planner {

// Returns whether the planner chooses what the job offloads.
bool ChoosesOffload(const Job& job);

// Returns the job with the offload that gives the shortest step, and no more of it than the plan
// needs: a share of the optimizer in thousandths, or a number of layers whose activations leave the
// GPU. If nothing fits, offloads the whole optimizer, or no layer, since recompute needs less
// memory than offloaded activations. Searches are short, so that the step is about the shortest
// (OffloadTrials). REQUIRES: ChoosesOffload(job). The result is arbitrary once stopped.
Job WithBestOffload(const Job& job, const PlanHooks& hooks);

// Returns the job with nothing offloaded of what the planner may choose, or nullopt if it has to
// offload some of that.
std::optional<Job> WithoutChosenOffload(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHOOSE_OFFLOAD_H_
