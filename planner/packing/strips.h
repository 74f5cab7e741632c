// Divides a window of packs, sorted by one part of their work, into strips.
#ifndef EVENKEEL_PLANNER_PACKING_STRIPS_H_
#define EVENKEEL_PLANNER_PACKING_STRIPS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace evenkeel::planner {

struct WorkItem {
  std::array<int32_t, 2> work{};  // vision, language: 0 to 2^30
  uint32_t pack = 0;
};

inline constexpr int64_t kShare = 1 << 16;  // fixed point of shares

// Least, most and sum of one part of the work of some packs.
struct WorkRange {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  int64_t sum = 0;

  void Add(int64_t w) { least = std::min(least, w), most = std::max(most, w), sum += w; }
  void Add(const WorkRange& r) {
    least = std::min(least, r.least), most = std::max(most, r.most), sum += r.sum;
  }
  // Returns how far the mean falls short of the largest, as a share of the largest times kShare.
  // This is the DistRatio of `count` packs on `count` ranks.
  int64_t Short(int64_t count) const {
    return most == 0 ? 0 : (most - sum / count) * kShare / most;
  }
};

// Sums over some packs.
struct WorkRun {
  int64_t count = 0;
  std::array<WorkRange, 2> part;

  void Add(const WorkItem& item) {
    ++count;
    for (size_t p = 0; p < 2; ++p) part[p].Add(item.work[p]);
  }
  void Add(const WorkRun& run) {
    count += run.count;
    for (size_t p = 0; p < 2; ++p) part[p].Add(run.part[p]);
  }
  int64_t Short() const { return part[0].Short(count) + part[1].Short(count); }
};

struct Strips {
  std::vector<int64_t> sizes;
  bool flat = true;  // each strip has one value of the major part
};

// Divides packs that ascend by the `major` part (0: vision, 1: language) into strips. The strips
// are chosen so that the steps are as even as possible once each strip is sorted by the other part
// and cut into steps of `step_packs`.
Strips DivideIntoStrips(std::span<const WorkItem> items, size_t major, int64_t step_packs);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_STRIPS_H_
