// What is offloaded to host memory, where the planner chooses it.
#ifndef EVENKEEL_PLANNER_SEARCH_CHOOSE_OFFLOAD_H_
#define EVENKEEL_PLANNER_SEARCH_CHOOSE_OFFLOAD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"
#include "planner/plan_hooks.h"
#include "planner/search/candidate.h"

namespace evenkeel::planner {

// Returns the job with this share of the optimizer offloaded.
Job WithOffload(const Job& job, double ratio);

// Returns the job with nothing offloaded.
Job WithoutOffload(const Job& job);

// Returns whether the planner chooses what the job offloads.
bool ChoosesOffload(const Job& job);

// Returns the job with the offload that gives the shortest step, and no more of it than the plan
// needs: a share of the optimizer in thousandths, or a number of layers whose activations leave the
// GPU. If nothing fits, offloads the whole optimizer, or no layer, since recompute needs less
// memory than offloaded activations. Searches are short, so that the step is about the shortest
// (OffloadTrials).
// REQUIRES: ChoosesOffload(job). The result is arbitrary once stopped.
Job WithBestOffload(const Job& job, const PlanHooks& hooks);

// Returns the job with nothing offloaded of what the planner may choose, or nullopt if it has to
// offload some of that.
std::optional<Job> WithoutChosenOffload(const Job& job);

// Returns what a candidate with these stages offloads and what that costs, without the gain.
// Returns nullopt if the job does not ask for offload.
std::optional<OffloadPlan> OffloadOf(const Job& job, const Batching& batching, const Candidate& c,
                                     const std::vector<StagePlan>& stages);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_CHOOSE_OFFLOAD_H_
