#include "planner/packing/length_groups.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "planner/packing/even_packs.h"
#include "planner/packing/greedy_fill.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {
namespace {

constexpr uint8_t kPacked = std::numeric_limits<uint8_t>::max();

// Returns the first group, from its own upwards, whose caps hold the sample alone, or the last
// group if none does.
size_t HomeOf(std::span<const LengthGroup> groups, int64_t units, int64_t tokens) {
  size_t group = GroupOf(groups, tokens);
  while (group + 1 < groups.size() && !groups[group].caps.Hold(units, tokens)) ++group;
  return group;
}

// A subset of the samples, by their indices among all samples.
struct Part {
  std::vector<uint32_t> index;
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
};

// The samples of a group that other groups may take. Must not move in memory.
struct Filler {
  explicit Filler(Part samples)
      : part(std::move(samples)), sorted(SortByType(part.lengths())), fill(sorted) {}
  const Part part;
  const SortedSamples sorted;
  GreedyFill fill;
};

class Builder {
 public:
  Builder(const Lengths& lengths, std::span<const LengthGroup> groups, const PackRule& rule)
      : lengths_(lengths), groups_(groups), rule_(rule), home_(lengths.size()) {
    for (size_t i = 0; i < home_.size(); ++i)
      home_[i] = static_cast<uint8_t>(HomeOf(groups, lengths.units[i], lengths.tokens[i]));
    rule_.apart.clear();
  }

  GroupedPacking Run() {
    std::vector<Packing> packings(groups_.size());
    GroupedPacking all;
    all.fillers.resize(groups_.size());
    for (size_t g = groups_.size(); g-- > 0;) packings[g] = PackGroup(g, &all);
    all.packing.members.reserve(lengths_.size());
    for (Packing& packing : packings) {
      all.first_pack.push_back(static_cast<int64_t>(all.packing.size()));
      for (size_t p = 0; p < packing.size(); ++p) {
        all.packing.members.insert(all.packing.members.end(), packing[p].begin(), packing[p].end());
        all.packing.ClosePack();
      }
      packing = {};
    }
    all.first_pack.push_back(static_cast<int64_t>(all.packing.size()));
    return all;
  }

 private:
  // Returns the unpacked samples whose home is in [begin, end). Includes their units if `units` is
  // true.
  Part Among(size_t begin, size_t end, bool units) const {
    rule_.stop.Spend(static_cast<int64_t>(4 * home_.size()));
    Part part;
    for (size_t i = 0; i < home_.size(); ++i) {
      if (home_[i] < begin || home_[i] >= end) continue;
      part.index.push_back(static_cast<uint32_t>(i));
      part.units.push_back(units ? lengths_.units[i] : 0);
      part.tokens.push_back(lengths_.tokens[i]);
    }
    return part;
  }

  Caps CapsOf(size_t group) const {
    const Caps& caps = groups_[group].caps;
    return {caps.units == kNoUnitCap ? 0 : caps.units, caps.tokens};
  }

  // Packs one group. The result uses the indices of all samples.
  Packing PackGroup(size_t group, GroupedPacking* all) {
    const Caps caps = CapsOf(group);
    const Part own = Among(group, group + 1, caps.units > 0);
    if (own.index.empty()) return {};
    rule_.caps = caps;
    SetDefaultKeep(&rule_);
    Packing packing = PackOwnSamples(own.lengths(), rule_);
    for (auto* list : {&packing.members, &packing.oversize, &packing.rejected})
      for (uint32_t& i : *list) i = own.index[i];
    for (const uint32_t i : own.index) home_[i] = kPacked;
    if (group + 1 == groups_.size()) {
      all->packing.oversize = std::move(packing.oversize);
      all->packing.rejected = std::move(packing.rejected);
    }
    if (group == 0 || packing.size() == 0) return packing;
    return FillUp(packing, group, &all->fillers[group]);
  }

  // Fills room with samples of shorter groups, the shortest group first, and fills packs that make
  // the last step whole in the same way.
  Packing FillUp(const Packing& packing, size_t group, int64_t* fillers) {
    const Caps caps = CapsOf(group);
    const bool units_count = caps.units > 0;
    std::deque<Filler> shorter;  // a deque does not move its elements
    for (size_t k = 0; k < group; ++k) shorter.emplace_back(Among(k, k + 1, units_count));
    Packing filled;
    const auto fill_pack = [&](int64_t units, int64_t tokens) {
      const size_t before = filled.members.size();
      for (Filler& filler : shorter) {
        const size_t begin = filled.members.size();
        rule_.stop.Spend(1000);
        if (units >= 0 && tokens > 0) filler.fill.Fill(units, tokens, filled);
        for (size_t i = begin; i < filled.members.size(); ++i) {
          const uint32_t sample = filled.members[i] = filler.part.index[filled.members[i]];
          home_[sample] = kPacked;
          units -= units_count ? lengths_.units[sample] : 0;
          tokens -= lengths_.tokens[sample];
        }
      }
      *fillers += static_cast<int64_t>(filled.members.size() - before);
      filled.ClosePack();
    };
    const std::vector<PackSums> sums = SumsOf(lengths_, packing);
    for (size_t p = 0; p < packing.size(); ++p) {
      filled.members.insert(filled.members.end(), packing[p].begin(), packing[p].end());
      fill_pack(units_count ? caps.units - sums[p].units : 0, caps.tokens - sums[p].tokens);
    }
    const auto step = static_cast<size_t>(groups_[group].step_packs());
    const auto some_left = [&] {
      return std::any_of(shorter.begin(), shorter.end(),
                         [](const Filler& filler) { return !filler.fill.empty(); });
    };
    while (filled.size() % step != 0 && some_left()) fill_pack(caps.units, caps.tokens);
    return filled;
  }

  const Lengths lengths_;
  const std::span<const LengthGroup> groups_;
  PackRule rule_;
  std::vector<uint8_t> home_;  // home group by sample, or kPacked
};

}  // namespace

size_t GroupOf(std::span<const LengthGroup> groups, int64_t tokens) {
  size_t group = 0;
  while (group + 1 < groups.size() && tokens > groups[group].longest) ++group;
  return group;
}

Packing PackOwnSamples(const Lengths& lengths, const PackRule& rule) {
  if (rule.packer == Packer::kBalanced) {
    Packing even = PackEvenly(lengths, rule.caps.tokens, rule.stop);
    if (even.size() > 0) return even;
  }
  return Pack(lengths, rule);
}

GroupedPacking PackByGroups(const Lengths& lengths, std::span<const LengthGroup> groups,
                            const PackRule& rule) {
  return Builder(lengths, groups, rule).Run();
}

}  // namespace evenkeel::planner
