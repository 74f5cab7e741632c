#include "planner/choose/modules.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/space/offload.h"

namespace evenkeel::planner {
namespace {

// Divides sets of modules, the most promising first. What the sets between two can reach at best is
// a plan whose GPUs hold as little as with the larger, and which pays only for the smaller.
class ModuleSearch {
 public:
  ModuleSearch(const Job& job, const StepToImprove& known, OffloadTrials& trials)
      : job_(job),
        trials_(trials),
        nothing_is_known_(known.of_nothing),
        given_(job.training.activations.given_modules),
        settings_(SettingsBesideModules(job)),
        best_ns_(known.ns) {}

  ChosenOffload Run() {
    trials_.ResetBudget();
    if (given_ == 0 && !nothing_is_known_) Try({});
    for (const RecomputeSetting& setting : settings_) {
      const OffloadModules may = ModulesBeside(OffloadModulesOf(job_), setting);
      if (given_ == 0) {
        Open({setting, 0, may});
      } else if ((given_ & ~may) == 0) {
        if (best_.setting == RecomputeSetting{} && best_.must == 0) best_ = {setting, given_};
        Try({setting, given_, given_});
      }
    }
    while (!open_.empty() && !trials_.OutOfBudget()) {
      const auto next =
          std::min_element(open_.begin(), open_.end(),
                           [](const Sets& a, const Sets& b) { return a.bound_ns < b.bound_ns; });
      const Sets sets = std::move(*next);
      open_.erase(next);
      if (!MayGain(sets.bound_ns, best_ns_)) break;
      const OffloadModules module = std::bit_floor(sets.may & ~sets.must);
      Open({sets.setting, sets.must | module, sets.may, 0, sets.open});
      Open({sets.setting, sets.must, sets.may & ~module, 0, sets.open});
    }
    // Where memory needs all modules, the bounding plans do not show it.
    for (const RecomputeSetting& setting : settings_) {
      const OffloadModules all = ModulesBeside(OffloadModulesOf(job_), setting);
      if (best_ns_ == 0 && given_ == 0 && all != 0 && !trials_.Stopped()) Try({setting, all, all});
    }
    if (given_ == 0 && best_.must != 0 && best_has_chunks_) TryNeighbours();
    return {WithModules(job_, best_.must, best_.must, best_.setting), best_ns_};
  }

 private:
  // The sets that have all of `must` and nothing but `may`.
  struct Sets {
    RecomputeSetting setting;
    OffloadModules must = 0, may = 0;
    int64_t bound_ns = 0;
    OpenDegrees open;
  };

  void Offer(const RecomputeSetting& setting, OffloadModules modules, int64_t ns,
             bool chunks = false) {
    if (best_ns_ > 0 && ns >= best_ns_) return;
    best_ = {setting, modules}, best_ns_ = ns, best_has_chunks_ = chunks;
  }

  void Try(const Sets& sets) {
    const std::pair set(sets.setting, sets.must);
    if (std::find(tried_.begin(), tried_.end(), set) != tried_.end()) return;
    tried_.push_back(set);
    const std::optional<PlanUnderOffload> search = trials_.For(
        WithModules(job_, sets.must, sets.must, sets.setting), StepToBeat(best_ns_), sets.open);
    if (!search) return;
    Offer(sets.setting, sets.must, search->best.simulated_ns,
          search->best.parallelism.virtual_stages > 1);
    if (given_ == 0 && sets.must != 0) Reduce(sets, *search);
  }

  // The moves that cut chunks end where no single one helps. With one module more or less, memory
  // may lead them on.
  void TryNeighbours() {
    const Sets best = best_;
    const OffloadModules may = ModulesBeside(OffloadModulesOf(job_), best.setting);
    for (OffloadModules left = may; left != 0; left &= left - 1) {
      const OffloadModules modules = best.must ^ (left & -left);
      if (modules != 0 && WithoutUnmetNeeds(modules) == modules && !trials_.OutOfBudget())
        Try({best.setting, modules, modules});
    }
  }

  // A cut that a search finds with some modules may do with fewer.
  void Reduce(const Sets& tried, const PlanUnderOffload& found) {
    const RecomputeSetting& setting = tried.setting;
    const Sets all{setting, 0, ModulesBeside(OffloadModulesOf(job_), setting)};
    const OffloadModules modules = LeastOf(all, found);
    const std::optional<int64_t> ns = StepWith(setting, modules, found);
    if (!ns || !MayGain(*ns, best_ns_)) return;
    if (found.best.parallelism.virtual_stages == 1) return Offer(setting, modules, *ns);
    if (!trials_.OutOfBudget()) Try({setting, modules, modules, 0, tried.open});
  }

  // Returns the candidate's step with these modules, or nullopt if there are none, or if the host
  // lacks room for them.
  std::optional<int64_t> StepWith(const RecomputeSetting& setting, OffloadModules modules,
                                  const PlanUnderOffload& found) const {
    if (modules == 0) return std::nullopt;
    return StepOf(WithModules(job_, modules, modules, setting), found, trials_.stop());
  }

  // Bounds the sets, and offers the least of them with which the plan that bounds them fits.
  void Open(Sets sets) {
    sets.may = WithoutUnmetNeeds(sets.may);
    if ((sets.must & ~sets.may) != 0 || sets.may == 0) return;
    if (trials_.OutOfBudget()) return;
    const std::optional<PlanUnderOffload> search = trials_.For(
        WithModules(job_, sets.may, sets.must, sets.setting), StepToBeat(best_ns_), sets.open);
    if (!search) return;
    sets.bound_ns = search->best.simulated_ns;
    sets.open = search->open;
    OfferLeast(sets, *search);
    if (sets.must != sets.may) open_.push_back(sets);
  }

  // Offers the least of the sets with which the candidate fits.
  void OfferLeast(const Sets& sets, const PlanUnderOffload& found) {
    const OffloadModules modules = LeastOf(sets, found);
    const std::optional<int64_t> ns = StepWith(sets.setting, modules, found);
    if (ns && found.best.parallelism.virtual_stages == 1) return Offer(sets.setting, modules, *ns);
    // If this cut does not fit, another may. A search with only this set may miss the cut, because
    // searches over chunks are not certified. It finds the cut more easily with more memory to
    // spare, so all of `may` is tried too.
    for (const OffloadModules of : {modules, sets.may})
      if (of != 0 && MayGain(ns.value_or(sets.bound_ns), best_ns_) && !trials_.OutOfBudget())
        Try({sets.setting, of, of, 0, sets.open});
  }

  // Returns the sets of modules in order of the bytes that they move.
  std::vector<OffloadModules> InOrder(const Sets& sets, const PlanUnderOffload& found) const {
    std::vector<std::pair<int64_t, OffloadModules>> order;
    const auto bytes_of = [&](OffloadModules modules) {
      const LayerProfile profile =
          BuildLayerProfile(WithModules(job_, modules, modules, sets.setting),
                            found.best.parallelism, found.batching->mean, found.batching->largest);
      int64_t bytes = 0;
      for (int64_t i = 0; i < profile.size(); ++i)
        bytes += std::min(profile.at(i).host_kept_bytes, kBytesAtMost);
      return bytes;
    };
    std::vector<int64_t> each(32);
    for (OffloadModules left = sets.may; left != 0; left &= left - 1) {
      const int bit = std::countr_zero(left);
      each[static_cast<size_t>(bit)] = bytes_of(OffloadModules{1} << bit);
    }
    const OffloadModules free = sets.may & ~sets.must;
    for (OffloadModules chosen = free;; chosen = (chosen - 1) & free) {
      const OffloadModules modules = sets.must | chosen;
      int64_t bytes = 0;
      for (OffloadModules left = modules; left != 0; left &= left - 1)
        bytes += each[static_cast<size_t>(std::countr_zero(left))];
      if (modules != 0 && WithoutUnmetNeeds(modules) == modules) order.emplace_back(bytes, modules);
      if (chosen == 0) break;
    }
    std::sort(order.begin(), order.end());
    std::vector<OffloadModules> modules;
    for (const auto& [bytes, of] : order) modules.push_back(of);
    return modules;
  }

  // Returns the sets' least with which the candidate fits on the GPUs, or 0 if it never does.
  OffloadModules LeastOf(const Sets& sets, const PlanUnderOffload& found) const {
    std::vector<OffloadModules> too_few;
    for (const OffloadModules modules : InOrder(sets, found)) {
      if (std::any_of(too_few.begin(), too_few.end(),
                      [&](OffloadModules more) { return (modules & ~more) == 0; }))
        continue;
      if (FitsOnGpus(WithModules(job_, modules, modules, sets.setting), found, trials_.stop()))
        return modules;
      too_few.push_back(modules);
    }
    return 0;
  }

  static constexpr int64_t kBytesAtMost = int64_t{1} << 45;

  const Job& job_;
  OffloadTrials& trials_;
  const bool nothing_is_known_;
  const OffloadModules given_;
  const std::vector<RecomputeSetting> settings_;
  std::vector<Sets> open_;                                          // that may hold a better set
  std::vector<std::pair<RecomputeSetting, OffloadModules>> tried_;  // by a search of their own
  Sets best_;
  int64_t best_ns_;
  bool best_has_chunks_ = false;
};

}  // namespace

ChosenOffload WithBestModules(const Job& job, const StepToImprove& known, OffloadTrials* trials) {
  return ModuleSearch(job, known, *trials).Run();
}

}  // namespace evenkeel::planner
