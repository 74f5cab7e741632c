#include "planner/packing/alike_steps.h"

#include <algorithm>
#include <vector>

namespace evenkeel::planner {
namespace {

using Items = std::span<WorkItem>;

constexpr int64_t kUnitsPerSortedItem = 30;  // units of Stop

// Sorts by the major part, then by the other; pack indices make it a total order.
void SortBy(size_t major, const Stop& stop, Items items) {
  const auto key = [major](const WorkItem& i) {
    return static_cast<uint64_t>(i.work[major]) << 32 | static_cast<uint64_t>(i.work[1 - major]);
  };
  stop.Spend(kUnitsPerSortedItem * static_cast<int64_t>(items.size()));
  std::sort(items.begin(), items.end(), [key](const WorkItem& a, const WorkItem& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.pack < b.pack;
  });
}

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
Layout LayOut(size_t major, Items items, int64_t step_packs, const Stop& stop) {
  SortBy(major, stop, items);
  const Strips strips = DivideIntoStrips(items, major, step_packs);
  size_t begin = 0;
  for (const int64_t size : strips.sizes) {
    const Items strip = items.subspan(begin, static_cast<size_t>(size));
    SortBy(1 - major, stop, strip);
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
  const Layout by_vision = LayOut(0, window, step_packs, stop);
  if (by_vision.flat) return;
  // The layout is computed again rather than kept, to save memory; sorting makes it the same.
  if (LayOut(1, window, step_packs, stop).cost >= by_vision.cost)
    LayOut(0, window, step_packs, stop);
}

}  // namespace evenkeel::planner
