#include "planner/packing/level_packs.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/packing/column_leveler.h"
#include "planner/packing/columns.h"
#include "planner/packing/fill_patterns.h"
#include "planner/packing/pack_patterns.h"
#include "planner/packing/sample_groups.h"

namespace evenkeel::planner {
namespace {

constexpr size_t kDealtTogether = size_t{1} << 18;  // samples
constexpr int64_t kFirstStepParts = 2000;  // the first step above the bound: one pack in this many
constexpr int64_t kMostStepParts = 40;
constexpr int64_t kWorkPerDealt = 1500;  // on packs over a cap, per sample
constexpr int64_t kFewSamples = 3;       // packs of fewer on average start from a design
constexpr int64_t kDesignGroups = 64;
constexpr int64_t kPlaneCells = 64;  // of the other column, where two are nearly as full
constexpr double kDesignCells = 60'000, kDesignSlack = .999, kNearlyAsLarge = .8;

int64_t Size(const Packing& packing) { return static_cast<int64_t>(packing.size()); }

// Splits samples into groups of like sizes in two columns: the group that is widest, times its
// count, is halved at its middle sample, until there are enough.
std::vector<std::vector<uint32_t>> LikeSamples(const Columns& columns, size_t a, size_t b,
                                               size_t at_most, const Stop& stop) {
  struct Group {
    double width = 0;
    size_t column = 0;
    std::vector<uint32_t> rows;
  };
  const auto measured = [&](std::vector<uint32_t> rows) {
    Group group;
    for (const size_t c : {a, b}) {
      int32_t least = columns[rows.front()][c], most = least;
      for (const uint32_t i : rows)
        least = std::min(least, columns[i][c]), most = std::max(most, columns[i][c]);
      const double width =
          D(most - least) / D(columns.caps[c]) * D(static_cast<int64_t>(rows.size()));
      if (width > group.width) group.width = width, group.column = c;
    }
    stop.Spend(static_cast<int64_t>(4 * rows.size()));
    group.rows = std::move(rows);
    return group;
  };
  std::vector<uint32_t> all(columns.samples());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<Group> groups{measured(std::move(all))};
  while (groups.size() < at_most) {
    const auto widest =
        std::max_element(groups.begin(), groups.end(),
                         [](const Group& x, const Group& y) { return x.width < y.width; });
    if (widest->width == 0) break;
    std::vector<uint32_t> rows = std::move(widest->rows);
    const size_t c = widest->column;
    stop.Spend(static_cast<int64_t>(50 * rows.size()));
    std::sort(rows.begin(), rows.end(), [&](uint32_t x, uint32_t y) {
      return columns[x][c] != columns[y][c] ? columns[x][c] < columns[y][c] : x < y;
    });
    const auto half = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
    *widest = measured({rows.begin(), half});
    groups.push_back(measured({half, rows.end()}));
  }
  std::vector<std::vector<uint32_t>> rows;
  for (Group& group : groups) rows.push_back(std::move(group.rows));
  return rows;
}

// Returns the pack of each sample, for the `packs` of `made` that are fullest in columns a and b.
std::vector<uint32_t> Fullest(const Columns& columns, size_t a, size_t b,
                              const std::vector<std::vector<uint32_t>>& made, int64_t packs) {
  std::vector<std::pair<double, size_t>> fullest;
  for (size_t p = 0; p < made.size(); ++p) {
    int64_t in_a = 0, in_b = 0;
    for (const uint32_t i : made[p]) in_a += columns[i][a], in_b += columns[i][b];
    fullest.emplace_back(-D(in_a) / D(columns.caps[a]) - D(in_b) / D(columns.caps[b]), p);
  }
  std::sort(fullest.begin(), fullest.end());
  std::vector<uint32_t> pack_of(columns.samples(), ColumnLeveler::kNoPack);
  for (uint32_t p = 0; p < fullest.size() && p < packs; ++p)
    for (const uint32_t i : made[fullest[p].second]) pack_of[i] = p;
  return pack_of;
}

// Designs packs by cutting stock over two columns, for groups of samples that are like in both.
// Column b gets the finer grid.
std::vector<uint32_t> DesignInTwo(const Columns& columns, size_t a, size_t b, int64_t packs,
                                  const Stop& stop) {
  const std::vector<std::vector<uint32_t>> like =
      LikeSamples(columns, a, b, static_cast<size_t>(kDesignGroups), stop);
  const double a_cell = D(columns.caps[a]) / D(kPlaneCells);
  const double b_cell = D(columns.caps[b]) / kDesignCells;
  std::vector<SampleGroup> groups;
  double sum = 0;
  for (const std::vector<uint32_t>& rows : like) {
    int64_t in_a = 0, in_b = 0;
    for (const uint32_t i : rows) in_a += columns[i][a], in_b += columns[i][b];
    SampleGroup group;
    group.count = static_cast<int64_t>(rows.size());
    group.units = Nearest(D(in_a) / D(group.count) / a_cell);
    group.mean_tokens = std::max(1., D(in_b) / D(group.count) / b_cell);
    sum += group.mean_tokens * D(group.count);
    groups.push_back(group);
  }
  const Caps caps{kPlaneCells, static_cast<int64_t>(kDesignCells)};
  const PackDesign design = DesignPacks(groups, caps, sum / D(packs), 1, stop);
  std::vector<std::vector<uint32_t>> made;
  std::vector<size_t> taken(groups.size());
  for (const PackPattern& pattern : design.patterns) {
    for (int64_t i = 0; i < pattern.times; ++i) {
      made.emplace_back();
      for (const auto& [group, count] : pattern.content) {
        const size_t g = static_cast<size_t>(group);
        for (int32_t k = 0; k < count; ++k) made.back().push_back(like[g][taken[g]++]);
      }
    }
  }
  return Fullest(columns, a, b, made, packs);
}

// Designs packs that hold few samples by cutting stock over the fullest column, or over tokens and
// units if both are nearly as full. Returns the pack of each sample, except for those of surplus
// packs.
std::vector<uint32_t> DesignStart(const Columns& columns, int64_t packs, const Stop& stop) {
  const size_t n = columns.samples();
  std::vector<int64_t> total(columns.count);
  for (size_t i = 0; i < columns.values.size(); ++i)
    if (columns.caps[i % columns.count] != kNoCap) total[i % columns.count] += columns.values[i];
  size_t fullest = 0, second = 0;  // equal if there is one column
  const auto share = [&](size_t c) { return D(total[c]) / D(columns.caps[c]); };
  for (size_t c = 1; c < columns.count; ++c)
    if (share(c) > share(fullest)) fullest = c;
  for (size_t c = 0; c < columns.count; ++c)
    if (c != fullest && (second == fullest || share(c) > share(second))) second = c;
  if (second != fullest && share(second) >= kNearlyAsLarge * share(fullest))
    return DesignInTwo(columns, second, fullest, packs, stop);
  std::vector<int32_t> none(n), sizes(n);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const double size = columns[i][fullest] * kDesignCells / D(columns.caps[fullest]);
    sizes[i] = static_cast<int32_t>(std::max<int64_t>(1, Nearest(size)));
    sum += sizes[i];
  }
  const Lengths lengths{none, sizes};
  const Caps caps{0, static_cast<int64_t>(kDesignCells)};
  const SortedSamples sorted = SortByType(lengths, stop);
  const std::vector<SampleGroup> groups =
      GroupSamples(sorted.types, caps.tokens / (2 * kDesignGroups), kDesignGroups, stop);
  const PackDesign design = DesignPacks(groups, caps, sum / D(packs), kDesignSlack, stop);
  const Packing filled = FillPatterns(lengths, caps, sorted, groups, design.patterns, stop);
  std::vector<std::vector<uint32_t>> made;
  for (size_t p = 0; p < filled.size(); ++p) made.emplace_back(filled[p].begin(), filled[p].end());
  return Fullest(columns, fullest, fullest, made, packs);
}

}  // namespace

Packing DealLevel(const Lengths& lengths, const Caps& caps, const SortedSamples& sorted,
                  int64_t packs, const Stop& stop) {
  const size_t n = lengths.size();
  const int64_t shards =
      std::min(packs, static_cast<int64_t>((n + kDealtTogether - 1) / kDealtTogether));
  Packing packing;
  packing.members.reserve(n);
  std::vector<uint32_t> samples, left_over;
  for (int64_t shard = 0; shard < shards; ++shard) {
    samples.clear();
    for (size_t i = static_cast<size_t>(shard); i < n; i += static_cast<size_t>(shards))
      samples.push_back(sorted.order[i]);
    const Columns columns = ColumnsOf(lengths, caps, samples);
    const int64_t share = packs * (shard + 1) / shards - packs * shard / shards;
    ColumnLeveler leveler(columns, share, stop);
    const bool few = static_cast<int64_t>(samples.size()) < kFewSamples * share;
    leveler.Run(kWorkPerDealt, few ? DesignStart(columns, share, stop) : std::vector<uint32_t>());
    leveler.Emit(samples, packing, left_over);
  }
  PackRest(lengths, caps, std::move(left_over), stop, packing);
  return packing;
}

Packing PackLevel(const Lengths& lengths, const Caps& caps, const SortedSamples& sorted,
                  int64_t from, int64_t enough, const Stop& stop) {
  const int64_t most = static_cast<int64_t>(lengths.size());
  const int64_t step = CeilDivide(from, kFirstStepParts);
  Packing best;
  for (int64_t more = 0; more <= from / kMostStepParts + step; more = std::max(step, 2 * more)) {
    const int64_t packs = std::min(from + more, most);
    if (best.size() > 0 && (packs >= Size(best) || Size(best) <= enough)) break;
    Packing packing = DealLevel(lengths, caps, sorted, packs, stop);
    if (best.size() == 0 || packing.size() < best.size()) best = std::move(packing);
  }
  return best;
}

}  // namespace evenkeel::planner
