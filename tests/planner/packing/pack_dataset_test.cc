#include "planner/packing/pack_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

using testing::ElementsAre;

struct DatasetSamples {
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
};

DatasetSamples SomeDatasetSamples(size_t count) {
  Random random(11);
  DatasetSamples s;
  for (size_t i = 0; i < count; ++i) {
    s.units.push_back(static_cast<int32_t>(random.Below(6)));
    s.tokens.push_back(static_cast<int32_t>(100 + random.Below(900)));
  }
  return s;
}

PackingJob DatasetJob(Caps caps, int64_t ranks) {
  PackingJob job;
  job.pack.caps = caps;
  job.deal.ranks = ranks;
  return job;
}

TEST(PackDatasetTest, EverySampleIsPackedAndEveryPackDealt) {
  const DatasetSamples s = SomeDatasetSamples(3000);
  const PackingResult r = PackAndDeal(s.lengths(), DatasetJob({12, 4096}, 8));
  EXPECT_FALSE(r.stopped);
  std::vector<uint32_t> members = r.packing.members;
  std::sort(members.begin(), members.end());
  ASSERT_EQ(members.size(), 3000u);
  for (uint32_t i = 0; i < 3000; ++i) EXPECT_EQ(members[i], i);
  std::vector<int64_t> dealt = r.order;
  std::sort(dealt.begin(), dealt.end());
  const size_t holes = dealt.size() - r.packing.size();
  EXPECT_LT(holes, 8u);
  for (size_t i = 0; i < r.packing.size(); ++i) {
    EXPECT_EQ(dealt[holes + i], static_cast<int64_t>(i));
  }
  EXPECT_EQ(r.sums.size(), r.packing.size());
  EXPECT_LE(r.bound.packs, static_cast<int64_t>(r.packing.size()));
  EXPECT_GT(r.bound.packs, 0);
  EXPECT_DOUBLE_EQ(r.samples_per_pack, 3000.0 / static_cast<double>(r.packing.size()));
  EXPECT_GT(r.token_fill, 0.5);
  EXPECT_LE(r.token_fill, 1);
  EXPECT_LE(r.unit_fill, 1);
  EXPECT_EQ(r.pad_ratio, 0);
}

TEST(PackDatasetTest, OversizePacksAreLeftOutOfTheFill) {
  const DatasetSamples s = {{1, 1, 50}, {100, 100, 100}};
  PackingJob job = DatasetJob({2, 400}, 1);
  const PackingResult alone = PackAndDeal(s.lengths(), job);
  EXPECT_EQ(alone.packing.size(), 2u);
  EXPECT_THAT(alone.packing.oversize, ElementsAre(2));
  EXPECT_DOUBLE_EQ(alone.unit_fill, 1);
  EXPECT_DOUBLE_EQ(alone.token_fill, 0.5);
  EXPECT_EQ(alone.bound.packs, 2);

  job.pack.oversize = OversizePolicy::kReject;
  const PackingResult rejected = PackAndDeal(s.lengths(), job);
  EXPECT_EQ(rejected.packing.size(), 1u);
  EXPECT_THAT(rejected.packing.rejected, ElementsAre(2));
  EXPECT_EQ(rejected.bound.packs, 1);
}

TEST(PackDatasetTest, CapsThatAreNotGivenAreDerived) {
  DatasetSamples s;
  for (int i = 0; i < 500; ++i) {
    s.units.push_back(1 + i % 5);
    s.tokens.push_back(256 * (1 + i % 5) + 40 + i % 97);
  }
  PackingJob job = DatasetJob({0, 0}, 4);
  job.pack.packer = Packer::kIsf;
  const PackingResult r = PackAndDeal(s.lengths(), job);
  EXPECT_GE(r.rule.caps.units, 5);
  EXPECT_GE(r.rule.caps.tokens, 1416);
  EXPECT_EQ(r.rule.keep_units, r.rule.caps.units);
  EXPECT_EQ(r.rule.keep_tokens, r.rule.caps.tokens - 128);
  EXPECT_NE(r.caps_reason, "");
  EXPECT_TRUE(r.packing.oversize.empty());

  job.pack.caps = {0, 4096};
  EXPECT_EQ(PackAndDeal(s.lengths(), job).rule.caps.tokens, 4096);
  EXPECT_GT(PackAndDeal(s.lengths(), job).rule.caps.units, 5);
  // Without units, there is no unit cap to derive.
  std::fill(s.units.begin(), s.units.end(), 0);
  EXPECT_EQ(PackAndDeal(s.lengths(), job).rule.caps.units, 0);
  EXPECT_EQ(PackAndDeal(s.lengths(), job).caps_reason, "");
  EXPECT_EQ(PackAndDeal({}, DatasetJob({0, 0}, 4)).packing.size(), 0u);
}

TEST(PackDatasetTest, NothingButOversizeSamples) {
  const DatasetSamples s = {{5, 5}, {10, 10}};
  PackingJob job = DatasetJob({2, 400}, 4);
  EXPECT_EQ(PackAndDeal(s.lengths(), job).packing.size(), 2u);
  EXPECT_EQ(PackAndDeal(s.lengths(), job).token_fill, 0);
  job.pack.oversize = OversizePolicy::kReject;
  const PackingResult none = PackAndDeal(s.lengths(), job);
  EXPECT_EQ(none.packing.size(), 0u);
  EXPECT_TRUE(none.order.empty());
  EXPECT_EQ(none.bound.packs, 0);
}

TEST(PackDatasetTest, BoundsOfPartsAddUp) {
  const DatasetSamples s = {{1, 1, 1, 1}, {100, 100, 100, 100}};
  PackingJob job = DatasetJob({4, 400}, 1);
  EXPECT_EQ(PackAndDeal(s.lengths(), job).bound.packs, 1);
  job.pack.apart = {1, 3};
  const PackingResult r = PackAndDeal(s.lengths(), job);
  EXPECT_EQ(r.bound.packs, 2);
  EXPECT_EQ(r.packing.size(), 2u);
}

TEST(PackDatasetTest, NoSamples) {
  const PackingResult r = PackAndDeal({}, DatasetJob({4, 400}, 2));
  EXPECT_EQ(r.packing.size(), 0u);
  EXPECT_TRUE(r.order.empty());
  EXPECT_EQ(r.samples_per_pack, 0);
}

TEST(PackDatasetTest, TextAloneHasNoUnitFill) {
  const DatasetSamples s = {{0, 0, 0}, {100, 200, 300}};
  const PackingResult r = PackAndDeal(s.lengths(), DatasetJob({0, 600}, 1));
  EXPECT_EQ(r.packing.size(), 1u);
  EXPECT_EQ(r.unit_fill, 0);
  EXPECT_DOUBLE_EQ(r.token_fill, 1);
}

TEST(PackDatasetTest, StopsWhereItIsTold) {
  const DatasetSamples s = SomeDatasetSamples(100);
  for (int calls = 0; calls < 5; ++calls) {
    int asked = 0;
    EXPECT_TRUE(
        PackAndDeal(s.lengths(), DatasetJob({12, 4096}, 2), [&] { return asked++ == calls; })
            .stopped)
        << calls;
  }
}

}  // namespace
}  // namespace evenkeel::planner
