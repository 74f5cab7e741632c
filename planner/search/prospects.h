// The whole space as a list: for every choice of degrees, schedule and packs per rank what sums
// over the model tell of it, before any partition is looked for.
#ifndef EVENKEEL_PLANNER_SEARCH_PROSPECTS_H_
#define EVENKEEL_PLANNER_SEARCH_PROSPECTS_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"
#include "planner/search/bounds.h"

namespace evenkeel::planner {

// Layer profiles of one job, each built once: they depend on the degrees, on pipeline only as far
// as there is one, and on virtual stages for memory alone.
class Profiles {
 public:
  struct Entry {
    LayerProfile profile;
    ChainWork work;
  };
  Profiles(const Job& job, const Batching& batching) : job_(job), batching_(batching) {}

  const Entry& Of(const Parallelism& p);

 private:
  const Job& job_;
  const Batching& batching_;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>, Entry> entries_;
};

// Times in ns of one step of m x D mean packs, data sync and optimizer included.
struct Prospect {
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  int64_t micro_batches = 0;
  const LayerProfile* profile = nullptr;  // of one chunk per stage
  int64_t bound_ns = 0;                   // no partition has a shorter step
  int64_t estimate_ns = 0;
};

// By degrees ascending. `profiles` must outlive them. Incomplete where `stop` says so.
std::vector<Prospect> Prospects(const Job& job, double packs_per_step, Profiles& profiles,
                                const Stop& stop);

// False: the fullest stage can not hold its share of weights, gradients and optimizer.
bool HoldsItsShare(const Job& job, const LayerProfile& profile, const Parallelism& p);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_PROSPECTS_H_
