// The steps that a plan has to beat during a search: the one that the caller set, and that of the
// best plan so far.
#ifndef EVENKEEL_PLANNER_SEARCH_INCUMBENT_H_
#define EVENKEEL_PLANNER_SEARCH_INCUMBENT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/base/integers.h"
#include "planner/candidates/parallelisms.h"
#include "planner/candidates/plan_order.h"
#include "planner/partition/methods.h"

namespace evenkeel::planner {

// Which plans a search looks for.
struct SearchScope {
  int64_t beat_ns = 0;  // only those with a step below this, scaled to the requested global batch;
                        // 0: any
  const std::vector<Parallelism>* among = nullptr;  // only these degrees; nullptr: all
  // Looks at all degrees that may have such a plan, even if they cannot have the best one.
  bool all_better = false;
};

// A choice below is a Prospect or a Candidate, and its steps are not scaled.
class Incumbent {
 public:
  // `packs` is the number of packs of an epoch.
  Incumbent(const SearchScope& scope, double packs_per_step, int64_t packs)
      : scope_(scope), packs_per_step_(packs_per_step), packs_(packs) {}

  // Returns the time of the requested global batch.
  template <typename Choice>
  int64_t Scale(const Choice& choice, int64_t step_ns) const {
    return ScaleToBatch(step_ns, packs_per_step_, choice.micro_batches, choice.parallelism.data);
  }

  template <typename Choice>
  PlanOrder OrderOf(const Choice& choice, int64_t step_ns) const {
    return {Wide{StepsOf(choice)} * step_ns, Scale(choice, step_ns)};
  }

  template <typename Choice>
  void Replace(const Choice& choice, int64_t step_ns) {
    best_ = OrderOf(choice, step_ns);
  }

  // Returns whether a plan with this step is within the scope.
  template <typename Choice>
  bool InScope(const Choice& choice, int64_t step_ns) const {
    return scope_.beat_ns == 0 || Scale(choice, step_ns) < scope_.beat_ns;
  }

  // Returns whether a plan with this step would be the best so far.
  template <typename Choice>
  bool BeatenBy(const Choice& choice, int64_t step_ns) const {
    return InScope(choice, step_ns) && (!best_ || OrderOf(choice, step_ns) < *best_);
  }

  // Returns whether the search looks for a plan with this step.
  template <typename Choice>
  bool Wants(const Choice& choice, int64_t step_ns) const {
    return scope_.all_better ? InScope(choice, step_ns) : BeatenBy(choice, step_ns);
  }

  // Returns a step at or above which the search wants no plan of this choice: the shortest that
  // is easily told, or kNoPlan.
  template <typename Choice>
  int64_t PruneAt(const Choice& choice) const {
    const int64_t least = scope_.beat_ns > 0
                              ? StepScaledTo(scope_.beat_ns, packs_per_step_, choice.micro_batches,
                                             choice.parallelism.data)
                              : kNoPlan;
    if (!best_ || scope_.all_better) return least;
    return std::min(least, static_cast<int64_t>(best_->epoch_ns / StepsOf(choice)) + 1);
  }

 private:
  // Returns the steps of an epoch.
  template <typename Choice>
  int64_t StepsOf(const Choice& choice) const {
    return CeilDivide(packs_, choice.micro_batches * choice.parallelism.data);
  }

  const SearchScope scope_;
  const double packs_per_step_;
  const int64_t packs_;
  std::optional<PlanOrder> best_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_INCUMBENT_H_
