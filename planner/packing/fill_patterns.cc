#include "planner/packing/fill_patterns.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "planner/packing/first_fit.h"
#include "planner/packing/level.h"

namespace evenkeel::planner {
namespace {

// Number of samples levelled together, small enough to stay in a processor's cache.
constexpr size_t kShardSamples = 1 << 18;

// Returns how many packs of a pattern are made in this shard.
int64_t ShareOf(int64_t times, int64_t shard, int64_t shards) {
  return times * (shard + 1) / shards - times * shard / shards;
}

// Returns the samples of each group that each shard gets, ascending by tokens. They are evenly
// spaced, so that all shards have the same level.
std::vector<GroupMembers> DealToShards(const SortedSamples& sorted,
                                       const std::vector<SampleGroup>& groups,
                                       const std::vector<PackPattern>& patterns, size_t shards) {
  std::vector<GroupMembers> dealt(shards, GroupMembers(groups.size()));
  std::vector<std::vector<size_t>> wanted(groups.size(), std::vector<size_t>(shards));
  for (const PackPattern& p : patterns)
    for (const auto& [g, count] : p.content)
      for (size_t s = 0; s < shards; ++s)
        wanted[static_cast<size_t>(g)][s] += static_cast<size_t>(
            count * ShareOf(p.times, static_cast<int64_t>(s), static_cast<int64_t>(shards)));
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t s = 0; s < shards; ++s) dealt[s][g].reserve(wanted[g][s]);
    size_t s = 0;
    for (int64_t i = groups[g].begin; i < groups[g].begin + groups[g].count; ++i) {
      while (dealt[s][g].size() == wanted[g][s]) s = (s + 1) % shards;
      dealt[s][g].push_back(sorted.order[static_cast<size_t>(i)]);
      s = (s + 1) % shards;
    }
  }
  return dealt;
}

}  // namespace

void PackRest(const Lengths& lengths, const Caps& caps, std::vector<uint32_t> rest,
              const Stop& stop, Packing& packing) {
  if (rest.empty()) return;
  std::sort(rest.begin(), rest.end());
  std::vector<int32_t> units, tokens;
  for (const uint32_t i : rest) {
    units.push_back(lengths.units[i]);
    tokens.push_back(lengths.tokens[i]);
  }
  const Packing packs = PackFirstFit({units, tokens}, caps, TypeOrder::kLargerShare, stop);
  for (size_t p = 0; p < packs.size(); ++p) {
    for (const uint32_t i : packs[p]) packing.members.push_back(rest[i]);
    packing.ClosePack();
  }
}

Packing FillPatterns(const Lengths& lengths, const Caps& caps, const SortedSamples& sorted,
                     const std::vector<SampleGroup>& groups,
                     const std::vector<PackPattern>& patterns, const Stop& stop) {
  stop.Spend(static_cast<int64_t>(20 * lengths.size()));
  const size_t shards = (lengths.size() + kShardSamples - 1) / kShardSamples;
  std::vector<GroupMembers> dealt = DealToShards(sorted, groups, patterns, shards);
  Packing packing;
  packing.members.reserve(lengths.size());
  size_t packs = 1;
  for (const PackPattern& p : patterns) packs += static_cast<size_t>(p.times);
  packing.offsets.reserve(packs);
  std::vector<uint32_t> rest;
  Leveler leveler(lengths, caps, stop);
  std::vector<PackPattern> part = patterns;
  for (size_t s = 0; s < shards; ++s) {
    for (size_t p = 0; p < patterns.size(); ++p)
      part[p].times =
          ShareOf(patterns[p].times, static_cast<int64_t>(s), static_cast<int64_t>(shards));
    leveler.Fill(groups, part, dealt[s], packing, rest);
    GroupMembers().swap(dealt[s]);  // frees memory, so that packed samples are not held twice
  }
  PackRest(lengths, caps, std::move(rest), stop, packing);
  return packing;
}

}  // namespace evenkeel::planner
