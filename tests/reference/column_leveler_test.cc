// Compares dealing by columns with exhaustive search over one to three capped columns.
#include "planner/packing/column_leveler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "planner/base/random.h"

namespace evenkeel::reference {
namespace {

using planner::ColumnLeveler;
using planner::Columns;
using planner::Packing;
using planner::Random;

Columns SmallInstance(Random& random) {
  Columns columns;
  columns.count = 1 + random.Below(3);
  for (size_t c = 0; c < columns.count; ++c)
    columns.caps.push_back(static_cast<int64_t>(8 + random.Below(40)));
  const size_t n = 1 + random.Below(9);
  for (size_t i = 0; i < n; ++i)
    for (const int64_t cap : columns.caps)
      columns.values.push_back(static_cast<int32_t>(
          random.Below(static_cast<uint64_t>(random.Below(2) == 0 ? cap : cap / 2) + 1)));
  return columns;
}

// Tries all partitions.
void Place(const Columns& columns, size_t sample, std::vector<std::vector<int64_t>>& packs,
           size_t& fewest) {
  if (packs.size() >= fewest) return;
  if (sample == columns.samples()) {
    fewest = packs.size();
    return;
  }
  const auto add = [&](std::vector<int64_t>& pack, int64_t sign) {
    for (size_t c = 0; c < columns.count; ++c) pack[c] += sign * columns[sample][c];
  };
  for (size_t p = 0; p < packs.size(); ++p) {
    add(packs[p], 1);
    bool within = true;
    for (size_t c = 0; c < columns.count; ++c) within &= packs[p][c] <= columns.caps[c];
    if (within) Place(columns, sample + 1, packs, fewest);
    add(packs[p], -1);
  }
  packs.emplace_back(columns.count);
  add(packs.back(), 1);
  Place(columns, sample + 1, packs, fewest);
  packs.pop_back();
}

size_t Fewest(const Columns& columns) {
  size_t fewest = columns.samples() + 1;
  std::vector<std::vector<int64_t>> packs;
  Place(columns, 0, packs, fewest);
  return fewest;
}

// Deals to one pack more until all packs are within the caps; checks every packing on the way.
size_t FewestDealt(const Columns& columns) {
  std::vector<uint32_t> samples(columns.samples());
  std::iota(samples.begin(), samples.end(), 0u);
  size_t fewest = columns.samples();
  for (size_t packs = 1; packs <= columns.samples(); ++packs) {
    ColumnLeveler leveler(columns, static_cast<int64_t>(packs));
    const bool within = leveler.Run(1000);
    Packing packing;
    std::vector<uint32_t> left_over;
    leveler.Emit(samples, packing, left_over);
    EXPECT_EQ(within, left_over.empty());
    std::vector<int> seen(columns.samples());
    for (const uint32_t i : left_over) ++seen[i];
    for (size_t p = 0; p < packing.size(); ++p) {
      std::vector<int64_t> sums(columns.count);
      for (const uint32_t i : packing[p]) {
        ++seen[i];
        for (size_t c = 0; c < columns.count; ++c) sums[c] += columns[i][c];
      }
      for (size_t c = 0; c < columns.count; ++c) EXPECT_LE(sums[c], columns.caps[c]);
    }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
    if (left_over.empty()) fewest = std::min(fewest, packing.size());
  }
  return fewest;
}

TEST(ColumnLevelerReferenceTest, FewestPacksOfOneToThreeColumns) {
  Random random(17);
  int instances = 0, optimal = 0;
  for (; instances < 2000; ++instances) {
    const Columns columns = SmallInstance(random);
    const size_t fewest = Fewest(columns), dealt = FewestDealt(columns);
    ASSERT_GE(dealt, fewest);
    optimal += dealt == fewest;
  }
  RecordProperty("optimal", optimal);
  EXPECT_GE(optimal, instances * 95 / 100);
}

}  // namespace
}  // namespace evenkeel::reference
