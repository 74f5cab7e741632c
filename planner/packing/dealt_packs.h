// The packs of a batch rule, dealt to the ranks and steps of a plan.
#ifndef EVENKEEL_PLANNER_PACKING_DEALT_PACKS_H_
#define EVENKEEL_PLANNER_PACKING_DEALT_PACKS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/pack_cost.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/deal.h"

namespace evenkeel::planner {

// Deals the packs of one batching for many plans. It keeps what it dealt, and the steps that plans
// with equally many packs per step share.
class PackDealer {
 public:
  // `batching` must outlive it. At most `steps_at_most` steps are dealt.
  PackDealer(const Batching& batching, const Stop& stop,
             int64_t steps_at_most = std::numeric_limits<int64_t>::max())
      : batching_(batching), stop_(stop), steps_at_most_(steps_at_most) {}

  // Returns packs in the order in which Deal hands them out, as whole steps of `data` ranks x
  // `micro_batches`. If there are fewer packs than in one step, they repeat; one stands for packs
  // that are all equal. Padded micro-batches come in the random order of PaddedSteps.
  const std::vector<PackShape>& Deal(int64_t data, int64_t micro_batches);

 private:
  // Packs that are formed into steps.
  struct StepsOfPacks {
    std::vector<PackSums> packs;
    std::vector<PackWork> work;  // of each
    FormedSteps steps;
  };

  std::vector<PackShape> Dealt(int64_t data, int64_t micro_batches);
  std::vector<PackSums> Shuffled() const;
  const StepsOfPacks& StepsFor(const DealRule& rule);

  const Batching& batching_;
  const Stop stop_;
  const int64_t steps_at_most_;
  std::map<std::pair<int64_t, int64_t>, std::vector<PackShape>> dealt_;  // by ranks, packs per rank
  std::map<int64_t, StepsOfPacks> formed_;                               // by packs per step
};

// Returns the packs that PackDealer deals to one plan, all steps.
std::vector<PackShape> DealtPacks(const Batching& batching, int64_t data, int64_t micro_batches,
                                  const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_DEALT_PACKS_H_
