// What is offloaded to host memory, where the planner chooses it.
#ifndef EVENKEEL_PLANNER_CHOOSE_OFFLOAD_H_
#define EVENKEEL_PLANNER_CHOOSE_OFFLOAD_H_

#include <cstdint>
#include <optional>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan_hooks.h"

namespace evenkeel::planner {

// Returns whether the planner chooses what the job offloads.
bool ChoosesOffload(const Job& job);

// The best plan of WithoutChosenOffload.
struct PlanWithoutOffload {
  const Batching* batching = nullptr;  // nullptr: not known, or nothing fits
  int64_t step_ns = 0;                 // scaled to the requested global batch
};

// Returns the job with the offload that gives the shortest step, and no more of it than the plan
// needs: a share of the optimizer in thousandths, or a number of layers whose activations leave the
// GPU. If nothing fits, offloads the whole optimizer, or no layer, since recompute needs less
// memory than offloaded activations. Searches are short, so that the step is about the shortest
// (OffloadTrials). REQUIRES: ChoosesOffload(job). The result is arbitrary once stopped.
Job WithBestOffload(const Job& job, const PlanWithoutOffload& without, const PlanHooks& hooks);

// Returns the job with nothing offloaded of what the planner may choose, or nullopt if it has to
// offload some of that.
std::optional<Job> WithoutChosenOffload(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHOOSE_OFFLOAD_H_
