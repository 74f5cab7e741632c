// Compares ways of batching with table 3 of OmniBal (arXiv 2407.20761), on a synthetic mix that was
// fitted only to the table's random row. The paper's data are not public, so the test checks the
// shape of the table. docs/ALGORITHMS.md says where it differs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "planner/baselines/argument_search.h"
#include "planner/baselines/sample_orders.h"
#include "planner/packing/packer.h"
#include "tests/validation/omnibal_mix.h"

namespace evenkeel::planner {
namespace {

// The released program measures with 4 samples per micro-batch on 16 ranks, one micro-batch each.
constexpr int64_t kRanks = 16;
constexpr size_t kSamples = 200'000;

struct BatchingRow {
  double samples = 0, pad = 0, vision = 0, language = 0;
};

BatchingRow Baseline(const OmniBalMix& mix, BaselineOrder order) {
  BaselineRule rule;
  rule.order = order;
  rule.ranks = kRanks;
  const BaselineBatches b = OrderSamples(mix.lengths(), rule);
  return {b.samples_per_micro_batch, b.pad_ratio, b.balance.dist_ratio_units,
          b.balance.dist_ratio_tokens};
}

BatchingRow Packed(const OmniBalMix& mix, Packer packer, const Caps& caps) {
  PackRule rule;
  rule.packer = packer;
  rule.caps = caps;
  rule.keep_units = caps.units;
  rule.keep_tokens = caps.tokens - 128;
  const Packing packing = Pack(mix.lengths(), rule);
  const std::vector<PackSums> sums = SumsOf(mix.lengths(), packing);
  const std::vector<PackWork> work = WorkOf(sums, {});
  DealRule deal;
  deal.ranks = kRanks;
  const Balance b = BalanceOf(sums, work, Deal(work, deal), kRanks, 1);
  return {static_cast<double>(kSamples) / static_cast<double>(packing.size()), 0,
          b.dist_ratio_units, b.dist_ratio_tokens};
}

void Print(const char* name, const BatchingRow& row, const BatchingRow& paper) {
  std::printf("%-26s %5.2f %5.3f %5.3f %5.3f", name, row.samples, row.pad, row.vision,
              row.language);
  if (paper.samples > 0)
    std::printf("   %5.2f %5.3f %5.3f %5.3f", paper.samples, paper.pad, paper.vision,
                paper.language);
  std::printf("\n");
}

TEST(OmniBalBatchingTest, TheTableHasTheSameShape) {
  const OmniBalMix mix = MakeOmniBalMix(kSamples);
  ArgumentRule arguments;
  arguments.ranks = kRanks;
  const ArgumentSearchResult search = SearchArguments(mix.lengths(), arguments);
  ASSERT_TRUE(search.reached);
  const Caps searched = search.tries[search.best].caps;

  const BatchingRow random = Baseline(mix, BaselineOrder::kRandom);
  const BatchingRow length = Baseline(mix, BaselineOrder::kLengthGrouped);
  const BatchingRow device = Baseline(mix, BaselineOrder::kDeviceGrouped);
  const BatchingRow isf = Packed(mix, Packer::kIsf, {9, 4096});
  const BatchingRow isf_searched = Packed(mix, Packer::kIsf, searched);
  std::printf("%-26s %s   %s\n", "samples, pad, DistRatios", "       here           ",
              "      published");
  Print("random", random, {4, .31, .34, .30});
  Print("length-group", length, {4, .20, .26, .13});
  Print("device-group", device, {4, .378, .125, .15});
  Print("group-random", Baseline(mix, BaselineOrder::kGroupRandom), {});
  Print("ISF at (9, 4096)", isf, {4.6, 0, .02, .14});
  std::printf("caps searched: (%lld, %lld)\n", static_cast<long long>(searched.units),
              static_cast<long long>(searched.tokens));
  Print("ISF at caps searched", isf_searched, {4.6, 0, .02, .14});
  Print("balanced at (9, 4096)", Packed(mix, Packer::kBalanced, {9, 4096}), {});
  Print("balanced at caps searched", Packed(mix, Packer::kBalanced, searched), {});

  // This checks the fit.
  EXPECT_NEAR(random.pad, .31, .015);
  EXPECT_NEAR(random.vision, .34, .015);
  EXPECT_NEAR(random.language, .30, .015);

  // This checks the shape. Length groups give up nothing; device groups trade padding for balance.
  EXPECT_LT(length.pad, random.pad);
  EXPECT_GT(device.pad, random.pad);
  for (const BatchingRow& row : {length, device, isf, isf_searched}) {
    EXPECT_LT(row.vision, random.vision);
    EXPECT_LT(row.language, random.language);
  }
  EXPECT_LT(length.language, device.language);
  for (const BatchingRow& row : {isf, isf_searched}) {
    EXPECT_EQ(row.pad, 0);
    EXPECT_LT(row.vision, std::min(length.vision, device.vision));
    EXPECT_LT(row.language, device.language);
  }
  EXPECT_GE(isf_searched.samples, 4);
  EXPECT_LE(isf_searched.samples, 5);
}

}  // namespace
}  // namespace evenkeel::planner
