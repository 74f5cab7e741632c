#include <algorithm>
#include <bit>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/packing/length_groups.h"

namespace evenkeel::planner {
namespace {

struct DealtGroup {
  std::vector<int64_t> order;  // packs by their index among all packs
  int64_t step_packs = 1;
  int64_t full_steps = 0, steps = 0;
  int64_t next = 0;  // step

  void AppendStep(std::vector<int64_t>* all) {
    const auto from = order.begin() + next++ * step_packs;
    all->insert(all->end(), from, from + step_packs);
  }
};

DealtGroup DealGroup(std::span<const PackWork> work, int64_t first, const LengthGroup& group,
                     DealRule rule) {
  rule.ranks = group.ranks;
  rule.packs_per_rank = group.packs_per_rank;
  rule.group = 1;
  DealtGroup dealt;
  dealt.order = Deal(work, rule);
  for (int64_t& pack : dealt.order) pack += pack < 0 ? 0 : first;
  dealt.step_packs = group.step_packs();
  dealt.full_steps = static_cast<int64_t>(work.size()) / dealt.step_packs;
  dealt.steps = CeilDivide(static_cast<int64_t>(work.size()), dealt.step_packs);
  return dealt;
}

// Returns the group of each step. The curriculum's steps come first, then full steps in random
// order, then steps that lack packs.
std::vector<int32_t> StepGroups(std::span<const DealtGroup> groups, int64_t leading,
                                size_t shortest, const DealRule& rule) {
  std::vector<int32_t> mixed;
  for (size_t g = 0; g < groups.size(); ++g) {
    const int64_t steps = groups[g].full_steps - (g == shortest ? leading : 0);
    mixed.insert(mixed.end(), static_cast<size_t>(steps), static_cast<int32_t>(g));
  }
  // The seed's second draw gives a random sequence that differs from that of dealing packs.
  Random seeds(rule.seed);
  seeds.Next();
  Random(seeds.Next() + static_cast<uint64_t>(rule.epoch)).Shuffle(mixed);
  mixed.insert(mixed.begin(), static_cast<size_t>(leading), static_cast<int32_t>(shortest));
  for (size_t g = 0; g < groups.size(); ++g)
    if (groups[g].steps > groups[g].full_steps) mixed.push_back(static_cast<int32_t>(g));
  return mixed;
}

// Returns `value` times the power of two that gives `most` 30 bits.
int32_t Scaled(int64_t value, int64_t most) {
  const int bits = std::bit_width(static_cast<uint64_t>(most));
  return static_cast<int32_t>(bits > 30 ? value >> (bits - 30) : value << (30 - bits));
}

}  // namespace

std::vector<PackWork> GroupWorkOf(std::span<const PackSums> sums, const PackTimes& times) {
  int64_t units = 0, tokens = 0, squared = 0;
  for (const PackSums& sum : sums) {
    units = std::max(units, sum.units);
    tokens = std::max(tokens, sum.tokens);
    squared = std::max(squared, sum.squared);
  }
  if (units > 0) return WorkOf(sums, times);
  std::vector<PackWork> work;
  work.reserve(sums.size());
  for (const PackSums& sum : sums)
    work.push_back({Scaled(sum.tokens, tokens), Scaled(sum.squared, squared)});
  return work;
}

GroupedOrder DealByGroups(std::span<const PackWork> work, std::span<const int64_t> first_pack,
                          std::span<const LengthGroup> groups, const DealRule& rule,
                          int64_t curriculum_steps) {
  std::vector<DealtGroup> dealt;
  int64_t steps = 0;
  size_t shortest = groups.size();
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto packs = work.subspan(static_cast<size_t>(first_pack[g]),
                                    static_cast<size_t>(first_pack[g + 1] - first_pack[g]));
    dealt.push_back(DealGroup(packs, first_pack[g], groups[g], rule));
    steps += dealt[g].steps;
    if (shortest == groups.size() && !packs.empty()) shortest = g;
  }
  GroupedOrder result;
  if (steps == 0) return result;
  const int64_t before = CappedProduct(rule.epoch, steps);  // steps before this epoch
  const int64_t leading = std::max<int64_t>(0, curriculum_steps - before);
  result.curriculum_steps = std::min(leading, dealt[shortest].full_steps);
  result.step_group = StepGroups(dealt, result.curriculum_steps, shortest, rule);
  for (const int32_t g : result.step_group) dealt[static_cast<size_t>(g)].AppendStep(&result.order);
  return result;
}

}  // namespace evenkeel::planner
