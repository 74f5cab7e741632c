#include "planner/packing/alike_steps.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace evenkeel::planner {
namespace {

using Items = std::span<WorkItem>;

constexpr int64_t kUnitsPerSortedItem = 30;  // units of Stop
constexpr size_t kFewItems = 64;             // sorted by comparison

// Sorts items by parts of their work. Planning sorts windows some hundred times, mostly of
// thousands of packs, for which a radix sort is the quickest.
class Sorter {
 public:
  explicit Sorter(const Stop& stop) : stop_(stop) {}

  // Sorts by the major part, then by the other; pack indices make it a total order.
  void SortBy(size_t major, Items items) {
    Spend(items);
    if (items.size() <= kFewItems) return Compare(major, items);
    ByDigits(items, [](const WorkItem& i) { return i.pack; });
    ByDigits(items, [major](const WorkItem& i) { return Digits(i.work[1 - major]); });
    ByDigits(items, [major](const WorkItem& i) { return Digits(i.work[major]); });
  }

  // Sorts by the major part, for items that are already sorted by the other part.
  void SortSortedBy(size_t major, Items items) {
    Spend(items);
    if (items.size() <= kFewItems) return Compare(major, items);
    ByDigits(items, [major](const WorkItem& i) { return Digits(i.work[major]); });
  }

 private:
  static constexpr size_t kKeyBits = 32;
  static constexpr size_t kBits = 11, kValues = size_t{1} << kBits;  // of a digit

  static uint32_t Digits(int32_t work) { return static_cast<uint32_t>(work); }

  void Spend(Items items) const {
    stop_.Spend(kUnitsPerSortedItem * static_cast<int64_t>(items.size()));
  }

  static void Compare(size_t major, Items items) {
    const auto key = [major](const WorkItem& i) {
      return std::tuple(i.work[major], i.work[1 - major], i.pack);
    };
    std::sort(items.begin(), items.end(),
              [key](const WorkItem& a, const WorkItem& b) { return key(a) < key(b); });
  }

  // Sorts by a key, stably: by its lowest digit first.
  template <typename Key>
  void ByDigits(Items items, Key key) {
    uint32_t differing = 0;  // bits in which keys differ
    for (const WorkItem& item : items) differing |= key(item) ^ key(items.front());
    moved_.resize(items.size());
    for (size_t shift = 0; differing >> shift > 0; shift += kBits) {
      const auto digit = [&](const WorkItem& item) { return key(item) >> shift & (kValues - 1); };
      std::array<uint32_t, kValues> begins{};
      for (const WorkItem& item : items) ++begins[digit(item)];
      uint32_t before = 0;
      for (uint32_t& begin : begins) before += std::exchange(begin, before);
      for (const WorkItem& item : items) moved_[begins[digit(item)]++] = item;
      std::copy(moved_.begin(), moved_.end(), items.begin());
      if (shift + kBits >= kKeyBits) break;
    }
  }

  const Stop& stop_;
  std::vector<WorkItem> moved_;
};

// Moves the packs left over to the end, from the place where that saves most. Returns the cost of
// all steps.
int64_t PlaceRest(Items items, int64_t step_packs) {
  const size_t size = static_cast<size_t>(step_packs);
  const size_t steps = items.size() / size, rest = items.size() % size;
  const auto cost = [&](size_t begin) {
    WorkRun step;
    for (const WorkItem& item : items.subspan(begin, size)) step.Add(item);
    return step.Short();
  };
  std::vector<int64_t> before(steps + 1), after(steps + 1);
  for (size_t s = 0; s < steps; ++s) before[s + 1] = before[s] + cost(s * size);
  if (rest == 0) return before[steps];
  for (size_t s = steps; s-- > 0;) after[s] = after[s + 1] + cost(s * size + rest);
  size_t best = 0;
  for (size_t s = 1; s <= steps; ++s) {
    if (before[s] + after[s] < before[best] + after[best]) best = s;
  }
  const auto from = items.begin() + static_cast<std::ptrdiff_t>(best * size);
  std::rotate(from, from + static_cast<std::ptrdiff_t>(rest), items.end());
  return before[best] + after[best];
}

struct Layout {
  int64_t cost = 0;
  bool flat = true;  // no strip mixes values of its major part
};

// Makes strips by the major part and sorts each by the minor part: upwards, or downwards if the
// step that the strip shares with the one before is then more even.
Layout LayOut(size_t major, Items items, int64_t step_packs, Sorter& sorter) {
  sorter.SortBy(major, items);
  const Strips strips = DivideIntoStrips(items, major, step_packs);
  size_t begin = 0;
  for (const int64_t size : strips.sizes) {
    const Items strip = items.subspan(begin, static_cast<size_t>(size));
    sorter.SortSortedBy(1 - major, strip);
    const size_t shared = begin % static_cast<size_t>(step_packs);
    const size_t room = std::min(strip.size(), static_cast<size_t>(step_packs) - shared);
    WorkRun up, down;
    for (const WorkItem& item : items.subspan(begin - shared, shared)) up.Add(item), down.Add(item);
    for (const WorkItem& item : strip.first(room)) up.Add(item);
    for (const WorkItem& item : strip.last(room)) down.Add(item);
    if (shared > 0 && down.Short() < up.Short()) std::reverse(strip.begin(), strip.end());
    begin += strip.size();
  }
  return {PlaceRest(items, step_packs), strips.flat};
}

}  // namespace

void GroupAlike(std::span<WorkItem> window, int64_t step_packs, const Stop& stop) {
  if (static_cast<int64_t>(window.size()) <= step_packs) return;
  Sorter sorter(stop);
  const Layout by_vision = LayOut(0, window, step_packs, sorter);
  if (by_vision.flat) return;
  const std::vector<WorkItem> kept(window.begin(), window.end());
  if (LayOut(1, window, step_packs, sorter).cost >= by_vision.cost)
    std::copy(kept.begin(), kept.end(), window.begin());
}

}  // namespace evenkeel::planner
