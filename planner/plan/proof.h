// How good a plan is.
#ifndef EVENKEEL_PLANNER_PLAN_PROOF_H_
#define EVENKEEL_PLANNER_PLAN_PROOF_H_

#include <cstdint>
#include <string>

namespace evenkeel::planner {

// One rung of the ladder from the unbalanced start to the plan. Each rung is simulated with its own
// spread of packs.
struct LadderRung {
  std::string name;
  bool fits = true;
  double gpu_days = 0;
  int64_t step_ns = 0;
  double pad_ratio = 0, dist_ratio_units = 0, dist_ratio_tokens = 0;
};

// Under kWorkLimit, the lower bound still covers what was not searched.
enum class SearchEnd { kExhausted, kWorkLimit };

// How good the plan is. All times are per optimizer step of exactly the requested global batch,
// with mean packs, data sync and optimizer included. They are modelled times, without the
// correction by measured steps, which is the same for every plan.
struct Proof {
  int64_t step_ns = 0;              // this plan, simulated
  int64_t lower_bound_ns = 0;       // for the step of every plan of the search space
  double gap = 0;                   // step_ns / lower_bound_ns - 1
  int64_t plan_lower_bound_ns = 0;  // for every 1F1B of this plan's stages
  // The closed form (m - 1) max_s T_s + sum_s T_s, where T_s is the stage time with recompute and
  // p2p, without data sync and optimizer: this plan's value, and the least value of all partitions
  // and recompute counts under this plan's parallelism.
  int64_t closed_form_ns = 0;
  int64_t closed_form_optimum_ns = 0;
  SearchEnd end = SearchEnd::kExhausted;
  int64_t parallelisms = 0;             // considered
  int64_t parallelisms_pruned = 0;      // pruned by a bound without a search
  int64_t parallelisms_unfit = 0;       // do not fit in memory
  int64_t parallelisms_unsearched = 0;  // not searched when the work limit was reached
  // Left with simple cuts at the work limit, though they may be better.
  int64_t parallelisms_unrefined = 0;
  int64_t partitions_examined = 0;  // partial partitions or, with packing groups, sets
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_PROOF_H_
