// The whole space as a list: every choice of degrees, schedule and packs per rank, with bounds and
// estimates from sums over the model, before any partition is searched.
#ifndef EVENKEEL_PLANNER_CANDIDATES_PROSPECTS_H_
#define EVENKEEL_PLANNER_CANDIDATES_PROSPECTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/candidates/bounds.h"
#include "planner/candidates/candidate.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"

namespace evenkeel::planner {

// Layer profiles of one job, each built once. They depend on the degrees. Of the pipeline degree,
// only whether there is a pipeline matters. Virtual stages change only memory.
class Profiles {
 public:
  struct Entry {
    LayerProfile profile;
    ChainWork work;
  };
  Profiles(const Job& job, const Batching& batching) : job_(job), batching_(batching) {}

  const Entry& EntryFor(const Parallelism& p);
  // Returns the entry of these degrees with every stage under one recompute setting.
  const Entry& EntryFor(const Parallelism& p, const RecomputeSetting& setting);
  const Entry& EntryFor(const Candidate& c) {
    return c.setting ? EntryFor(c.parallelism, *c.setting) : EntryFor(c.parallelism);
  }
  // Returns only the work, without keeping a profile under the setting.
  const ChainWork& WorkUnder(const Parallelism& p, const RecomputeSetting& setting);

 private:
  const Job& job_;
  const Batching& batching_;
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;
  static Key KeyOf(const Parallelism& p);
  std::map<Key, Entry> entries_;
  std::map<std::pair<Key, RecomputeSetting>, Entry> under_settings_;
  std::map<std::pair<Key, RecomputeSetting>, ChainWork> work_under_settings_;
};

// Times in ns of one step of m x D mean packs, data sync and optimizer included.
struct Prospect {
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  int64_t micro_batches = 0;
  std::optional<RecomputeSetting> setting;  // nullopt: recompute is still open
  // Its block is longer (or shorter) than the shortest block with which the even cut fits.
  bool longer_block = false, shorter_block = false;
  const LayerProfile* profile = nullptr;  // of one chunk per stage, without the setting
  int64_t least_send_ns = 0;              // LeastSend
  int64_t sync_bound_ns = 0;              // SyncBound
  int64_t sync_estimate_ns = 0;           // SyncEstimate
  int64_t bound_ns = 0;                   // no partition has a shorter step
  int64_t free_bound_ns = 0;              // bound_ns that holds for every recompute
  int64_t estimate_ns = 0;
};

// Returns the prospects of the degrees in `among` (of all degrees if it is null), by ascending
// degrees. `profiles` must outlive them. Incomplete if stopped.
std::vector<Prospect> Prospects(const Job& job, double packs_per_step,
                                const std::vector<Parallelism>* among, Profiles& profiles,
                                const Stop& stop);

// Returns `prospect` with one recompute setting for all stages, and the bound under that setting.
Prospect WithSetting(const Job& job, const RecomputeSetting& setting, const Prospect& prospect,
                     Profiles& profiles);

// Returns false if some stage cannot hold its share of weights, gradients and optimizer or, under a
// setting, all together cannot hold the layers of some class: then no cut fits.
bool MayFit(const Job& job, const Prospect& prospect);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CANDIDATES_PROSPECTS_H_
