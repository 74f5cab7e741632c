#include "planner/packing/level_packs.h"

#include <algorithm>
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
constexpr double kDesignCells = 60'000, kDesignSlack = .999, kNearlyAsLarge = .98;

int64_t Size(const Packing& packing) { return static_cast<int64_t>(packing.size()); }

// Designs packs that hold few samples by cutting stock over the fullest column. Returns the pack of
// each sample, but for packs that are too many; or nothing if another column is nearly as full.
std::vector<uint32_t> DesignStart(const Columns& columns, int64_t packs, const Stop& stop) {
  const size_t n = columns.samples();
  std::vector<int64_t> total(columns.count);
  for (size_t i = 0; i < columns.values.size(); ++i)
    if (columns.caps[i % columns.count] != kNoCap) total[i % columns.count] += columns.values[i];
  std::vector<double> share(columns.count), weight(columns.count);
  double most = 0, sum = 0;
  int large = 0;
  for (size_t c = 0; c < columns.count; ++c)
    share[c] = D(total[c]) / D(columns.caps[c]), most = std::max(most, share[c]);
  for (size_t c = 0; c < columns.count; ++c)
    if (share[c] >= kNearlyAsLarge * most) weight[c] = kDesignCells / D(columns.caps[c]), ++large;
  if (large > 1) return {};
  std::vector<int32_t> none(n), sizes(n);
  for (size_t i = 0; i < n; ++i) {
    double size = 0;
    for (size_t c = 0; c < columns.count; ++c) size += weight[c] * columns[i][c];
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
  std::vector<std::pair<int64_t, size_t>> fullest;
  const std::vector<PackSums> sums = SumsOf(lengths, filled);
  for (size_t p = 0; p < sums.size(); ++p) fullest.emplace_back(-sums[p].tokens, p);
  std::sort(fullest.begin(), fullest.end());
  std::vector<uint32_t> pack_of(n, ColumnLeveler::kNoPack);
  for (uint32_t p = 0; p < fullest.size() && p < packs; ++p)
    for (const uint32_t i : filled[fullest[p].second]) pack_of[i] = p;
  return pack_of;
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
