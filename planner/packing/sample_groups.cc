#include "planner/packing/sample_groups.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

// Types [first, last) as one group.
struct Range {
  size_t first = 0, last = 0;
  SampleGroup group;
};

Range MakeRange(const SampleTypes& types, size_t first, size_t last, int64_t begin,
                const Stop& stop) {
  stop.Spend(static_cast<int64_t>(2 * (last - first)));
  Range range{first, last, {}};
  SampleGroup& g = range.group;
  g.units = types[first].units;
  g.least_tokens = types[first].tokens;
  g.most_tokens = types[last - 1].tokens;
  g.begin = begin;
  int64_t tokens = 0;
  for (size_t i = first; i < last; ++i) {
    g.count += types[i].count;
    tokens += types[i].tokens * types[i].count;
  }
  g.mean_tokens = static_cast<double>(tokens) / static_cast<double>(g.count);
  return range;
}

int64_t Width(const Range& r) { return r.group.most_tokens - r.group.least_tokens; }

double Urgency(const Range& r) {
  return static_cast<double>(Width(r)) * static_cast<double>(r.group.count);
}

}  // namespace

std::vector<SampleGroup> GroupSamples(const SampleTypes& types, int64_t token_width, size_t at_most,
                                      const Stop& stop) {
  std::vector<Range> ranges;
  int64_t begin = 0;
  for (size_t first = 0; first < types.size();) {
    size_t last = first;
    while (last < types.size() && types[last].units == types[first].units) ++last;
    ranges.push_back(MakeRange(types, first, last, begin, stop));
    begin += ranges.back().group.count;
    first = last;
    if (ranges.size() > at_most) return {};
  }
  while (ranges.size() < at_most) {
    size_t widest = ranges.size();
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (Width(ranges[i]) <= token_width) continue;
      if (widest == ranges.size() || Urgency(ranges[i]) > Urgency(ranges[widest])) widest = i;
    }
    if (widest == ranges.size()) break;
    const Range whole = ranges[widest];
    const int64_t middle = (whole.group.least_tokens + whole.group.most_tokens) / 2;
    size_t cut = whole.first + 1;
    while (cut + 1 < whole.last && types[cut].tokens <= middle) ++cut;
    const Range low = MakeRange(types, whole.first, cut, whole.group.begin, stop);
    ranges[widest] = low;
    ranges.insert(ranges.begin() + static_cast<std::ptrdiff_t>(widest) + 1,
                  MakeRange(types, cut, whole.last, low.group.begin + low.group.count, stop));
  }
  std::vector<SampleGroup> groups;
  for (const Range& r : ranges) groups.push_back(r.group);
  return groups;
}

}  // namespace evenkeel::planner
