#include "planner/packing/time_packs.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/packing/level_packs.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {
namespace {

constexpr int kLevelBits = 20;
// Packs above the bound: none (0), or one in this many.
constexpr int64_t kMoreParts[] = {0, 1000, 400, 200, 100, 50};

// Deals samples, longest first, to a number of packs.
class LongestFirst {
 public:
  LongestFirst(const SortedSamples& sorted, int64_t token_cap, const Stop& stop)
      : sorted_(sorted), token_cap_(token_cap), stop_(stop) {}

  // Returns no packs if the cap cannot be kept so.
  Packing Into(int64_t packs, std::span<const int32_t> sample_times) {
    room_.assign(static_cast<size_t>(packs), token_cap_);
    time_.assign(static_cast<size_t>(packs), 0);
    open_ = {}, full_ = {};
    for (uint32_t p = 0; p < packs; ++p) open_.emplace(0, p);
    std::vector<uint32_t> pack_of;  // by position, from the last
    pack_of.reserve(sorted_.order.size());
    size_t position = sorted_.order.size();
    for (auto type = sorted_.types.rbegin(); type != sorted_.types.rend(); ++type) {
      for (int64_t i = 0; i < type->count; ++i) {
        stop_.Spend(100);
        const uint32_t sample = sorted_.order[--position];
        if (!FindRoom(type->tokens)) return {};
        const uint32_t pack = open_.top().second;
        open_.pop();
        room_[pack] -= type->tokens;
        time_[pack] += sample_times[sample];
        open_.emplace(time_[pack], pack);
        pack_of.push_back(pack);
      }
    }
    return Gather(pack_of);
  }

 private:
  // Sets packs without room aside, until a shorter sample fits there. Returns whether the pack of
  // least time now has room.
  bool FindRoom(int64_t tokens) {
    while (!full_.empty() && full_.top().first >= tokens) {
      const uint32_t pack = full_.top().second;
      full_.pop();
      open_.emplace(time_[pack], pack);
    }
    while (!open_.empty() && room_[open_.top().second] < tokens) {
      const uint32_t pack = open_.top().second;
      open_.pop();
      full_.emplace(room_[pack], pack);
    }
    return !open_.empty();
  }

  Packing Gather(std::span<const uint32_t> pack_of) const {
    Packing packing;
    packing.offsets.assign(time_.size() + 1, 0);
    for (const uint32_t pack : pack_of) ++packing.offsets[pack + 1];
    std::partial_sum(packing.offsets.begin(), packing.offsets.end(), packing.offsets.begin());
    std::vector<int64_t> next(packing.offsets.begin(), packing.offsets.end() - 1);
    packing.members.resize(pack_of.size());
    for (size_t i = 0; i < pack_of.size(); ++i)
      packing.members[static_cast<size_t>(next[pack_of[i]]++)] =
          sorted_.order[pack_of.size() - 1 - i];
    return packing;
  }

  const SortedSamples& sorted_;
  const int64_t token_cap_;
  const Stop stop_;
  std::vector<int64_t> room_, time_;  // by pack
  using Pack = std::pair<int64_t, uint32_t>;
  std::priority_queue<Pack, std::vector<Pack>, std::greater<>> open_;  // least time first
  std::priority_queue<Pack> full_;                                     // most room first
};

// Returns times in a coarser unit, in which a mean pack has the bits that ColumnLeveler gives to
// the level of every column.
std::vector<int32_t> ColumnOfTimes(std::span<const int32_t> times, int64_t packs) {
  const int64_t all = std::accumulate(times.begin(), times.end(), int64_t{0});
  const int bits = std::bit_width(static_cast<uint64_t>(all / packs));
  const int shift = std::max(0, bits - kLevelBits);
  std::vector<int32_t> column;
  column.reserve(times.size());
  for (const int32_t time : times) column.push_back(time >> shift);
  return column;
}

}  // namespace

Packing PackByTime(const Lengths& lengths, const Caps& caps, std::span<const int32_t> sample_times,
                   TimeMethod method, const Stop& stop) {
  if (lengths.size() == 0) return {};
  const SortedSamples sorted = SortByType(lengths, stop);
  const int64_t from = CheapLowerBound(sorted.types, caps, stop).packs;
  if (method == TimeMethod::kColumn) {
    const std::vector<int32_t> column = ColumnOfTimes(sample_times, from);
    Lengths with_times = lengths;
    with_times.level_times = column;
    return DealLevel(with_times, caps, sorted, from, stop);
  }
  if (std::any_of(lengths.units.begin(), lengths.units.end(), [](int32_t u) { return u > 0; }))
    return {};
  LongestFirst deal(sorted, caps.tokens, stop);
  for (const int64_t parts : kMoreParts) {
    const int64_t packs = from + (parts == 0 ? 0 : CeilDivide(from, parts));
    if (packs > static_cast<int64_t>(lengths.size())) break;
    Packing packing = deal.Into(packs, sample_times);
    if (packing.size() > 0) return packing;
  }
  return {};
}

}  // namespace evenkeel::planner
