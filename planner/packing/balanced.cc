#include "planner/packing/balanced.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "planner/packing/best_fit.h"
#include "planner/packing/fill_patterns.h"
#include "planner/packing/first_fit.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/pack_patterns.h"
#include "planner/packing/sample_groups.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kPartsOfCap[] = {1, 16, 64};  // the cap over the width of groups
constexpr size_t kGroupsAtMost = 64;
constexpr double kSlack = .05;
constexpr int64_t kFillWork = 2'000'000;  // samples that thorough searches fill in, once past three
constexpr int64_t kFastGap = 200;         // a fast search ends at 1 / 200 above the bound

class Search {
 public:
  Search(const Lengths& lengths, const Caps& caps, PackEffort effort)
      : lengths_(lengths),
        caps_(caps),
        sorted_(SortByType(lengths)),
        steps_(effort == PackEffort::kFast ? 2 : 6) {
    bound_ = static_cast<size_t>(CheapLowerBound(sorted_.types, caps).packs);
    good_ = effort == PackEffort::kFast ? bound_ + bound_ / kFastGap : bound_;
    int64_t tokens = 0;
    for (const SampleType& t : sorted_.types) tokens += t.tokens * t.count;
    level_ = static_cast<double>(tokens) / static_cast<double>(bound_);
    fills_ = std::max<int64_t>(3, kFillWork / static_cast<int64_t>(lengths.size()));
    if (effort == PackEffort::kFast) fills_ = 3;
  }

  Packing Run() {
    for (const int64_t parts : kPartsOfCap) {
      groups_ = GroupSamples(sorted_.types, caps_.tokens / parts, kGroupsAtMost);
      if (groups_.empty() || Done() || fills_ == 0) break;
      SearchSlack();
    }
    for (const TypeOrder order : {TypeOrder::kTokens, TypeOrder::kLargerShare}) {
      if (!Done()) Keep(PackFirstFit(lengths_, caps_, order));
      if (!Done()) Keep(PackBestFit(lengths_, caps_, order));
    }
    Relevel();
    return std::move(best_);
  }

 private:
  // Samples designed for at the slack `low`, but for a share designed for at `high`.
  struct Mix {
    double low = 1, high = 1, share = 0;
  };
  struct Design {
    std::vector<PackPattern> patterns;
    size_t packs = 0;
  };

  bool Done() const { return best_.size() > 0 && best_.size() <= good_; }

  // Packs may be designed a little longer than the cap, as levelling can choose samples below the
  // mean for them; the longer they may be, the fewer there are and the harder it gets to fill them.
  void SearchSlack() {
    double low = 1 - kSlack, high = 1 + kSlack;
    const Design most = DesignFor({high, high, 0});
    if (most.packs >= bound_) {
      // The token cap does not limit the number: the least slack that gives as few.
      if (TryFill(LeastSlack(most, low, high)) || Done()) return;
    }
    Bisect(low, high, [](double slack) { return Mix{slack, slack, 0}; });
    double least = 0, share = 1;
    Bisect(least, share, [&](double middle) { return Mix{low, high, middle}; });
  }

  Design LeastSlack(Design most, double low, double high) const {
    for (int i = 0; i < steps_; ++i) {
      const double middle = (low + high) / 2;
      Design design = DesignFor({middle, middle, 0});
      const bool as_few = design.packs <= most.packs;
      (as_few ? high : low) = middle;
      if (as_few) most = std::move(design);
    }
    return most;
  }

  // Between what can be filled and what cannot.
  template <typename MakeMix>
  void Bisect(double& filled, double& unfilled, const MakeMix& mix) {
    for (int i = 0; i < steps_ && fills_ > 0 && !Done(); ++i) {
      const double middle = (filled + unfilled) / 2;
      const Design design = DesignFor(mix(middle));
      (design.packs >= bound_ && TryFill(design) ? filled : unfilled) = middle;
    }
  }

  Design DesignFor(const Mix& mix) const {
    std::vector<SampleGroup> few = groups_, rest = groups_;
    for (size_t g = 0; g < groups_.size(); ++g) {
      few[g].count = static_cast<int64_t>(static_cast<double>(groups_[g].count) * mix.share);
      rest[g].count -= few[g].count;
    }
    Design design{DesignPacks(rest, caps_, level_, mix.low), 0};
    if (mix.share > 0) {
      const std::vector<PackPattern> more = DesignPacks(few, caps_, level_, mix.high);
      design.patterns.insert(design.patterns.end(), more.begin(), more.end());
    }
    for (const PackPattern& p : design.patterns) design.packs += static_cast<size_t>(p.times);
    return design;
  }

  // Whether the design could be filled as it is.
  bool TryFill(const Design& design) {
    if (best_.size() > 0 && design.packs >= best_.size()) return true;
    --fills_;
    Packing packing = FillPatterns(lengths_, caps_, sorted_, groups_, design.patterns);
    const bool filled = packing.size() == design.packs;
    Keep(std::move(packing), true);
    return filled;
  }

  void Keep(Packing packing, bool level = false) {
    if (best_.size() > 0 && packing.size() >= best_.size()) return;
    best_ = std::move(packing);
    best_is_level_ = level;
  }

  // Packs of the decreasing packers are as unequal as can be: the same numbers of samples of equal
  // units, chosen to be level.
  void Relevel() {
    if (best_is_level_) return;
    groups_ = GroupSamples(sorted_.types, caps_.tokens, kGroupsAtMost);
    if (groups_.empty()) return;
    std::map<std::vector<std::pair<int32_t, int32_t>>, int64_t> times;
    std::map<int64_t, int32_t> content;
    for (size_t p = 0; p < best_.size(); ++p) {
      content.clear();
      for (const uint32_t i : best_[p]) ++content[lengths_.units[i]];
      std::vector<std::pair<int32_t, int32_t>> pattern;
      for (size_t g = 0; g < groups_.size(); ++g)
        if (content.count(groups_[g].units) > 0)
          pattern.push_back({static_cast<int32_t>(g), content[groups_[g].units]});
      ++times[pattern];
    }
    std::vector<PackPattern> patterns;
    for (const auto& [pattern, count] : times) patterns.push_back({pattern, count});
    Packing level = FillPatterns(lengths_, caps_, sorted_, groups_, patterns);
    if (level.size() <= best_.size()) best_ = std::move(level);
  }

  const Lengths& lengths_;
  Caps caps_;
  SortedSamples sorted_;
  int steps_;
  size_t bound_ = 0;  // no packing has fewer
  size_t good_ = 0;   // with so many packs the search ends
  double level_ = 0;  // tokens of a pack, were there `bound_` of them
  int64_t fills_ = 0;
  std::vector<SampleGroup> groups_;
  Packing best_;
  bool best_is_level_ = false;
};

}  // namespace

Packing PackBalanced(const Lengths& lengths, const Caps& caps, PackEffort effort) {
  if (lengths.size() == 0) return {};
  // Where a full token cap never holds too many units, units need no look.
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths.units[i] * caps.tokens > caps.units * lengths.tokens[i])
      return Search(lengths, caps, effort).Run();
  }
  const std::vector<int32_t> none(lengths.size());
  return Search({none, lengths.tokens}, {0, caps.tokens}, effort).Run();
}

}  // namespace evenkeel::planner
