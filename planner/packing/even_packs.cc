#include "planner/packing/even_packs.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kManySamples = 8;  // samples in a pack
// Packs above the number by volume: none (0), or one in this many.
constexpr int64_t kRoomParts[] = {0, 1000, 400, 200};

// Returns no packs if a pack would exceed the cap.
Packing PackInto(const SortedSamples& sorted, int64_t token_cap, int64_t packs, const Stop& stop) {
  using Open = std::pair<int64_t, uint32_t>;  // tokens, pack
  std::vector<Open> empty;
  for (uint32_t p = 0; p < packs; ++p) empty.emplace_back(0, p);
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open(std::greater<>(),
                                                                    std::move(empty));
  std::vector<uint32_t> pack_of;  // by position, from the last
  pack_of.reserve(sorted.order.size());
  Packing packing;
  packing.offsets.resize(static_cast<size_t>(packs) + 1);
  for (auto type = sorted.types.rbegin(); type != sorted.types.rend(); ++type) {
    for (int64_t i = 0; i < type->count; ++i) {
      stop.Spend(100);
      const auto [tokens, pack] = open.top();
      if (tokens + type->tokens > token_cap) return {};
      open.pop();
      open.emplace(tokens + type->tokens, pack);
      pack_of.push_back(pack);
      ++packing.offsets[pack + 1];
    }
  }
  for (size_t p = 1; p < packing.offsets.size(); ++p) packing.offsets[p] += packing.offsets[p - 1];
  std::vector<int64_t> next(packing.offsets.begin(), packing.offsets.end() - 1);
  packing.members.resize(pack_of.size());
  for (size_t i = 0; i < pack_of.size(); ++i)
    packing.members[static_cast<size_t>(next[pack_of[i]]++)] =
        sorted.order.rbegin()[static_cast<std::ptrdiff_t>(i)];
  return packing;
}

}  // namespace

Packing PackEvenly(const Lengths& lengths, int64_t token_cap, const Stop& stop) {
  const auto n = static_cast<int64_t>(lengths.size());
  const int64_t tokens = std::accumulate(lengths.tokens.begin(), lengths.tokens.end(), int64_t{0});
  const int64_t volume = CeilDivide(tokens, token_cap);
  const bool units = std::any_of(lengths.units.begin(), lengths.units.end(),
                                 [](int32_t count) { return count > 0; });
  if (units || n < volume * kManySamples) return {};
  const SortedSamples sorted = SortByType(lengths, stop);
  for (const int64_t parts : kRoomParts) {
    const int64_t packs = volume + (parts == 0 ? 0 : CeilDivide(volume, parts));
    if (packs > n) break;
    Packing packing = PackInto(sorted, token_cap, packs, stop);
    if (packing.size() > 0) return packing;
  }
  return {};
}

}  // namespace evenkeel::planner
