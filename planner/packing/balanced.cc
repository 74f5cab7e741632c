#include "planner/packing/balanced.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/packing/best_fit.h"
#include "planner/packing/fill_patterns.h"
#include "planner/packing/first_fit.h"
#include "planner/packing/fullest_packs.h"
#include "planner/packing/level_packs.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/pack_patterns.h"
#include "planner/packing/sample_groups.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kPartsOfCap[] = {1, 16, 64};  // the cap over the width of groups
constexpr double kSlack = .05;
constexpr int64_t kLeastWork = 20'000'000;        // for designs, in cells of the knapsack's grid
constexpr int64_t kFastDesignWork = 100'000'000;  // for one design of a fast search
constexpr int64_t kWorkPerSample = 20'000;
constexpr size_t kTrialAtMost = 100'000;  // larger sets use the design that is best for a part of
                                          // them
constexpr size_t kTrial = 32'768;
constexpr int64_t kFastGap = 200;     // a fast search ends 1 / 200 above the bound
constexpr int64_t kCloseDeal = 1000;  // designs 1 / 1000 above it are good enough
constexpr int64_t kLeastMore = 1250;  // a large set is dealt to 1 / 1250 more packs at least
// Packs of more samples are full enough however they are made.
constexpr int64_t kDealtPerPack = 256;

// Evenly spaced samples in the order by type.
struct EvenPart {
  EvenPart(const Lengths& lengths, const SortedSamples& sorted) {
    const size_t stride = (lengths.size() + kTrial - 1) / kTrial;
    for (size_t i = stride / 2; i < lengths.size(); i += stride) {
      units.push_back(lengths.units[sorted.order[i]]);
      tokens.push_back(lengths.tokens[sorted.order[i]]);
    }
  }
  Lengths lengths() const { return {units, tokens}; }

  std::vector<int32_t> units, tokens;
};

class BalancedSearch {
 public:
  BalancedSearch(const Lengths& lengths, const Caps& caps, PackEffort effort, const Stop& stop)
      : lengths_(lengths),
        caps_(caps),
        stop_(stop),
        sorted_(SortByType(lengths, stop)),
        thorough_(effort == PackEffort::kThorough),
        steps_(thorough_ ? 6 : 4) {
    bound_ = CheapLowerBound(sorted_.types, caps, stop_).packs;
    good_ = thorough_ ? bound_ : bound_ + bound_ / kFastGap;
    int64_t tokens = 0;
    for (const SampleType& t : sorted_.types) tokens += t.tokens * t.count;
    level_ = static_cast<double>(tokens) / static_cast<double>(bound_);
    work_left_ = std::max(kLeastWork,
                          kWorkPerSample * static_cast<int64_t>(std::min(lengths.size(), kTrial)));
    if (!thorough_) fills_ = 8, work_left_ = 2 * kLeastWork, design_work_ = kFastDesignWork;
  }

  Packing Run() {
    if (FirstFitIsFull()) return std::move(best_);
    SearchDesigns();
    if (Dealable() && (thorough_ ? !Close() : groups_.empty())) PackByColumns();
    for (const TypeOrder order : {TypeOrder::kTokens, TypeOrder::kLargerShare}) {
      if (!Done()) Keep(PackFirstFit(lengths_, caps_, order, stop_));
      if (!Done()) Keep(PackBestFit(lengths_, caps_, order, stop_));
    }
    if (!Done() && thorough_ && caps_.units == 0)
      Keep(PackFullest(lengths_, caps_.tokens, good_, stop_));
    Relevel();
    return std::move(best_);
  }

 private:
  // Packs are designed with the slack `low`, except for a share of the samples with `high`.
  struct Mix {
    double low = 1, high = 1, share = 0;
  };

  bool Done() const { return best_.size() > 0 && static_cast<int64_t>(best_.size()) <= good_; }

  // Large sets without units: tries first fit. If its packs are full they are also level, and no
  // design is better; otherwise forgets them. Returns whether they are full.
  bool FirstFitIsFull() {
    if (caps_.units != 0 || lengths_.size() <= kTrialAtMost) return false;
    Keep(PackFirstFit(lengths_, caps_, TypeOrder::kTokens, stop_));
    const bool full =
        level_ >= (1 - 1 / static_cast<double>(kCloseDeal)) * static_cast<double>(caps_.tokens);
    if (full && Close()) return true;
    best_ = {};
    return false;
  }

  bool Dealable() const {
    return static_cast<int64_t>(lengths_.size()) <= CappedProduct(kDealtPerPack, bound_);
  }

  // Returns whether designs are so good that dealing is not worth its time.
  bool Close() const {
    return best_.size() > 0 && static_cast<int64_t>(best_.size()) <= bound_ + bound_ / kCloseDeal;
  }

  bool Ended() const { return Done() || fills_ <= 0 || work_left_ <= 0; }

  void SearchDesigns() {
    if (lengths_.size() > kTrialAtMost) {
      MakeGroups(1);
      if (groups_.empty()) return;
      TryFewestPacks();
      if (!Done()) FollowTrial();
      return;
    }
    for (const int64_t parts : kPartsOfCap) {
      MakeGroups(parts);
      if (groups_.empty() || Ended()) return;
      if (TryFewestPacks()) continue;
      double low = 1 - kSlack, high = 1 + kSlack, least = 0, most = 1;
      Bisect(low, high, [](double slack) { return Mix{slack, slack, 0}; });
      Bisect(least, most, [&](double share) { return Mix{low, high, share}; });
    }
  }

  // Finds the best design for evenly spaced samples in the order by type, and tries it once on all
  // samples.
  void FollowTrial() {
    const EvenPart part(lengths_, sorted_);
    BalancedSearch trial(part.lengths(), caps_, PackEffort::kThorough, stop_);
    trial.SearchDesigns();
    if (trial.best_.size() == 0) return;
    MakeGroups(trial.best_parts_);
    TryFill(trial.best_mix_);
  }

  // Deals samples to packs one by one: a large set once, to as many packs as are best for a part of
  // it. A fast search does so only for samples of too many numbers of units to be grouped.
  void PackByColumns() {
    const bool large = lengths_.size() > kTrialAtMost;
    Packing packing;
    if (thorough_ && !large) {
      packing = PackLevel(lengths_, caps_, sorted_, bound_, good_, stop_);
    } else {
      const int64_t packs = thorough_ ? PacksByTrial() : bound_ + bound_ / (2 * kFastGap);
      packing = DealLevel(lengths_, caps_, sorted_, packs, stop_);
    }
    if (Keep(std::move(packing))) best_is_level_ = true;
  }

  int64_t PacksByTrial() {
    const EvenPart part(lengths_, sorted_);
    const SortedSamples sorted = SortByType(part.lengths(), stop_);
    const int64_t bound = CheapLowerBound(sorted.types, caps_, stop_).packs;
    const Packing packing = PackLevel(part.lengths(), caps_, sorted, bound, bound, stop_);
    const int64_t packs = static_cast<int64_t>(packing.size());
    return bound_ + std::max(CeilDivide((packs - bound) * bound_, bound), bound_ / kLeastMore);
  }

  void MakeGroups(int64_t parts) {
    parts_ = parts;
    groups_ = GroupSamples(sorted_.types, caps_.tokens / parts, kGroupsAtMost, stop_);
  }

  // Packs may be designed a little longer than the cap, because levelling can choose samples below
  // the mean for them. The longer they may be, the fewer there are, and the harder it is to fill
  // them. If the token cap does not limit their number, the least slack that gives the fewest is
  // used. Returns true if such packs could be filled.
  bool TryFewestPacks() {
    double low = 1 - kSlack, high = 1 + kSlack;
    const int64_t fewest = DesignFor({high, high, 0}).packs;
    if (fewest < bound_) return false;
    for (int i = 0; i < steps_ && work_left_ > 0; ++i) {
      const double middle = (low + high) / 2;
      (DesignFor({middle, middle, 0}).packs <= fewest ? high : low) = middle;
    }
    return TryFill({high, high, 0});
  }

  // Bisects between a slack or share that can be filled and one that cannot.
  template <typename MakeMix>
  void Bisect(double& filled, double& unfilled, const MakeMix& mix) {
    for (int i = 0; i < steps_ && !Ended(); ++i) {
      const double middle = (filled + unfilled) / 2;
      (TryFill(mix(middle)) ? filled : unfilled) = middle;
    }
  }

  PackDesign DesignFor(const Mix& mix) {
    std::vector<SampleGroup> few = groups_, rest = groups_;
    for (size_t g = 0; g < groups_.size(); ++g) {
      few[g].count = static_cast<int64_t>(static_cast<double>(groups_[g].count) * mix.share);
      rest[g].count -= few[g].count;
    }
    PackDesign design = DesignPacks(rest, caps_, level_, mix.low, stop_, design_work_);
    if (mix.share > 0) {
      const PackDesign more = DesignPacks(few, caps_, level_, mix.high, stop_, design_work_);
      design.patterns.insert(design.patterns.end(), more.patterns.begin(), more.patterns.end());
      design.packs += more.packs;
      design.work += more.work;
    }
    work_left_ -= design.work;
    return design;
  }

  // Returns whether packs could be filled as designed.
  bool TryFill(const Mix& mix) {
    const PackDesign design = DesignFor(mix);
    if (design.packs < bound_) return false;
    if (best_.size() > 0 && design.packs >= static_cast<int64_t>(best_.size())) return true;
    --fills_;
    Packing packing = FillPatterns(lengths_, caps_, sorted_, groups_, design.patterns, stop_);
    const bool filled = static_cast<int64_t>(packing.size()) == design.packs;
    if (Keep(std::move(packing))) best_is_level_ = true, best_parts_ = parts_, best_mix_ = mix;
    return filled;
  }

  // Keeps a packing if it is the best so far. Returns whether it is.
  bool Keep(Packing packing) {
    if (packing.size() == 0 || (best_.size() > 0 && packing.size() >= best_.size())) return false;
    best_ = std::move(packing);
    best_is_level_ = false;
    return true;
  }

  // The decreasing packers make packs as unequal as possible. Replaces their packs by level ones
  // with the same numbers of samples of equal units.
  void Relevel() {
    if (best_is_level_) return;
    groups_ = GroupSamples(sorted_.types, caps_.tokens, kGroupsAtMost, stop_);
    if (groups_.empty()) {
      if (!Dealable()) return;
      Packing level =
          DealLevel(lengths_, caps_, sorted_, static_cast<int64_t>(best_.size()), stop_);
      if (level.size() <= best_.size()) best_ = std::move(level);
      return;
    }
    std::map<std::vector<std::pair<int32_t, int32_t>>, int64_t> times;
    std::map<int64_t, int32_t> content;
    for (size_t p = 0; p < best_.size(); ++p) {
      content.clear();
      stop_.Spend(static_cast<int64_t>(40 * (best_[p].size() + groups_.size())));
      for (const uint32_t i : best_[p]) ++content[lengths_.units[i]];
      std::vector<std::pair<int32_t, int32_t>> pattern;
      for (size_t g = 0; g < groups_.size(); ++g)
        if (content.count(groups_[g].units) > 0)
          pattern.push_back({static_cast<int32_t>(g), content[groups_[g].units]});
      ++times[pattern];
    }
    std::vector<PackPattern> patterns;
    for (const auto& [pattern, count] : times) patterns.push_back({pattern, count});
    Packing level = FillPatterns(lengths_, caps_, sorted_, groups_, patterns, stop_);
    if (level.size() <= best_.size()) best_ = std::move(level);
  }

  const Lengths lengths_;
  Caps caps_;
  const Stop stop_;
  SortedSamples sorted_;
  bool thorough_;
  int steps_;
  int64_t bound_ = 0;                        // no packing has fewer packs
  int64_t good_ = 0;                         // the search ends at this number of packs
  double level_ = 0;                         // mean tokens of a pack if there are `bound_` packs
  int64_t fills_ = 100;                      // number of fills that may still be tried
  int64_t work_left_ = 0;                    // for designs
  int64_t design_work_ = kDesignWorkAtMost;  // for a single design
  std::vector<SampleGroup> groups_;
  int64_t parts_ = 1;
  Packing best_;
  bool best_is_level_ = false;
  int64_t best_parts_ = 1;  // if the best packing is level: the grid that it was designed with
  Mix best_mix_;
};

}  // namespace

Packing PackBalanced(const Lengths& lengths, const Caps& caps, PackEffort effort,
                     const Stop& stop) {
  if (lengths.size() == 0) return {};
  // If a full token cap never holds too many units, units can be ignored.
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (caps.UnitsBind(lengths.units[i], lengths.tokens[i]))
      return BalancedSearch(lengths, caps, effort, stop).Run();
  }
  const std::vector<int32_t> none(lengths.size());
  return BalancedSearch({none, lengths.tokens}, {0, caps.tokens}, effort, stop).Run();
}

}  // namespace evenkeel::planner
