// The share of the optimizer that is offloaded, where the planner chooses it.
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
#include "planner/search/work_limits.h"

namespace evenkeel::planner {

// Returns the job with this share offloaded.
Job WithOffload(const Job& job, double ratio);

// Returns the job with the share of the shortest step, in thousandths, and the least share that its
// plan needs. Where nothing fits, the share is 1. REQUIRES: job.training.offload.choose. Anything
// once stopped.
Job WithBestOffload(const Job& job, const PlanHooks& hooks, const SearchWork& limits = {});

// Returns what a candidate of these stages offloads and what that costs, without its gain. nullopt
// if the job does not ask for it.
std::optional<OffloadPlan> OffloadOf(const Job& job, const Batching& batching, const Candidate& c,
                                     const std::vector<StagePlan>& stages);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_CHOOSE_OFFLOAD_H_
