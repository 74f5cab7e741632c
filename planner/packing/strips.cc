#include "planner/packing/strips.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kMostRuns = 256;  // bounds the quadratic time of DivideIntoStrips

// Returns the runs between which strips may end: between different values of the major part or, if
// there are too many, at quantiles.
std::vector<WorkRun> RunsOf(std::span<const WorkItem> items, size_t major, int64_t most_runs) {
  const auto work = [&](size_t i) { return items[i].work[major]; };
  const auto quantile = [&](size_t i) {
    return static_cast<int64_t>(i) * most_runs / static_cast<int64_t>(items.size());
  };
  int64_t levels = 1;
  for (size_t i = 1; i < items.size(); ++i) levels += work(i) != work(i - 1);
  std::vector<WorkRun> runs;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i == 0 || (levels <= most_runs ? work(i) != work(i - 1) : quantile(i) != quantile(i - 1))) {
      runs.emplace_back();
    }
    runs.back().Add(items[i]);
  }
  return runs;
}

// Returns the cost of a strip, in packs. The strip is not sorted by the major part, so all its
// steps fall short in that part. It is sorted by the minor part and cut, so the gaps of its steps
// add up to its range in that part. A strip too short for a step shares one with others; the minor
// part then counts as in the whole window.
int64_t StripCost(const WorkRun& strip, const WorkRun& all, size_t major, int64_t step_packs) {
  const int64_t uneven = strip.count * strip.part[major].Short(strip.count);
  if (strip.count < step_packs) {
    return uneven + step_packs * all.part[1 - major].Short(all.count);
  }
  const WorkRange& minor = strip.part[1 - major];
  const int64_t mean = std::max<int64_t>(1, minor.sum / strip.count);
  const int64_t gap = std::min((minor.most - minor.least) * (kShare / 2) / mean, kShare << 14);
  return uneven + std::min(strip.count * kShare, gap * step_packs);
}

// Returns how far a step across two strips falls short in the major part if half of it is in each
// strip.
int64_t CrossingCost(const WorkRun& below, const WorkRun& strip, size_t major, int64_t step_packs) {
  const int64_t most = strip.part[major].most;
  if (most == 0) return 0;
  return (most - below.part[major].sum / below.count) * kShare / most * step_packs / 2;
}

}  // namespace

// Runs a dynamic program over the start of the last strip.
Strips DivideIntoStrips(std::span<const WorkItem> items, size_t major, int64_t step_packs) {
  const int64_t steps = static_cast<int64_t>(items.size()) / step_packs;
  const std::vector<WorkRun> runs = RunsOf(items, major, std::min(kMostRuns, 4 * steps));
  WorkRun all;
  for (const WorkRun& run : runs) all.Add(run);
  std::vector<int64_t> cost(runs.size() + 1, 0);
  std::vector<size_t> begin(runs.size() + 1, 0);
  for (size_t end = 1; end <= runs.size(); ++end) {
    cost[end] = std::numeric_limits<int64_t>::max();
    WorkRun strip;
    for (size_t from = end; from-- > 0;) {
      strip.Add(runs[from]);
      int64_t c = cost[from] + StripCost(strip, all, major, step_packs);
      if (from > 0) c += CrossingCost(runs[from - 1], strip, major, step_packs);
      if (c < cost[end]) cost[end] = c, begin[end] = from;
    }
  }
  Strips strips;
  for (size_t end = runs.size(); end > 0; end = begin[end]) {
    WorkRun strip;
    for (size_t r = begin[end]; r < end; ++r) strip.Add(runs[r]);
    strips.sizes.push_back(strip.count);
    strips.flat &= strip.part[major].least == strip.part[major].most;
  }
  std::reverse(strips.sizes.begin(), strips.sizes.end());
  return strips;
}

}  // namespace evenkeel::planner
