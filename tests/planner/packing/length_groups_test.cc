#include "planner/packing/length_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "planner/base/random.h"
#include "planner/packing/pack_dataset.h"
#include "tests/planner/long_mix.h"

namespace evenkeel::planner {
namespace {

LengthGroup Group(int64_t tokens, int64_t context, int64_t ranks, int64_t packs_per_rank = 1,
                  int64_t units = kNoUnitCap) {
  return {tokens, {units, tokens}, context, ranks, packs_per_rank};
}

struct MixedSamples {
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
  void Add(int32_t t, int count = 1, int32_t u = 0) {
    units.insert(units.end(), static_cast<size_t>(count), u);
    tokens.insert(tokens.end(), static_cast<size_t>(count), t);
  }
};

std::vector<int32_t> TokensIn(const MixedSamples& samples, const GroupedPacking& packed,
                              size_t group) {
  std::vector<int32_t> tokens;
  for (int64_t p = packed.first_pack[group]; p < packed.first_pack[group + 1]; ++p)
    for (const uint32_t i : packed.packing[static_cast<size_t>(p)])
      tokens.push_back(samples.tokens[i]);
  std::sort(tokens.begin(), tokens.end(), std::greater<>());
  return tokens;
}

TEST(LengthGroupsTest, ASampleBelongsToTheFirstGroupThatIsLongEnough) {
  const std::vector<LengthGroup> groups = {Group(10, 1, 2), Group(20, 2, 1), Group(40, 4, 1)};
  EXPECT_EQ(GroupOf(groups, 10), 0u);
  EXPECT_EQ(GroupOf(groups, 11), 1u);
  EXPECT_EQ(GroupOf(groups, 40), 2u);
  EXPECT_EQ(GroupOf(groups, 1000), 2u);
}

TEST(LengthGroupsTest, RoomGoesToShorterSamplesLongestFirst) {
  MixedSamples samples;
  samples.Add(60);
  for (const int32_t t : {3, 9, 10, 10, 10, 8, 1}) samples.Add(t);
  const auto packed =
      PackByGroups(samples.lengths(), std::vector{Group(10, 1, 1), Group(100, 4, 1)}, {});
  EXPECT_EQ(TokensIn(samples, packed, 1), (std::vector<int32_t>{60, 10, 10, 10, 9, 1}));
  EXPECT_EQ(packed.fillers[1], 5);
}

TEST(LengthGroupsTest, PacksAreAddedUntilTheStepIsWhole) {
  MixedSamples samples;
  samples.Add(100);
  samples.Add(10, 100);
  const std::vector<LengthGroup> groups = {Group(10, 1, 8), Group(100, 4, 2, 2)};
  const auto packed = PackByGroups(samples.lengths(), groups, {});
  EXPECT_EQ(packed.first_pack[2] - packed.first_pack[1], 4);
  EXPECT_EQ(packed.fillers[1], 30);
  EXPECT_EQ(packed.first_pack[1], 70);
}

TEST(LengthGroupsTest, WhereShorterSamplesRunOutNoneAreLeft) {
  MixedSamples samples;
  samples.Add(90, 2);
  samples.Add(10, 12);
  const std::vector<LengthGroup> groups = {Group(10, 1, 8), Group(100, 4, 8)};
  const auto packed = PackByGroups(samples.lengths(), groups, {});
  EXPECT_EQ(packed.first_pack, (std::vector<int64_t>{0, 0, 3}));
  EXPECT_EQ(packed.packing.members.size(), 14u);
}

TEST(LengthGroupsTest, SamplesBeyondTheLastGroupTravelAloneOrNotAtAll) {
  MixedSamples samples;
  samples.Add(500);
  samples.Add(90);
  samples.Add(10, 20);
  const std::vector<LengthGroup> groups = {Group(10, 1, 1), Group(100, 4, 1)};
  const auto alone = PackByGroups(samples.lengths(), groups, {});
  EXPECT_EQ(alone.packing.oversize, std::vector<uint32_t>{0});
  EXPECT_EQ(alone.first_pack[2] - alone.first_pack[1], 2);
  EXPECT_TRUE(alone.packing.rejected.empty());
  PackRule reject;
  reject.oversize = OversizePolicy::kReject;
  const auto without = PackByGroups(samples.lengths(), groups, reject);
  EXPECT_EQ(without.packing.rejected, std::vector<uint32_t>{0});
  EXPECT_EQ(without.first_pack[2] - without.first_pack[1], 1);
}

// A sample that breaks its own group's unit cap goes to the next group that holds it.
TEST(LengthGroupsTest, UnitCapsHoldAndFillersKeepThem) {
  MixedSamples samples;
  samples.Add(90, 1, 3);
  samples.Add(5, 1, 4);   // too many units for the first group
  samples.Add(10, 3, 2);  // with the first sample's 3 units, it would be 5 units, and the cap is 4
  samples.Add(1, 10, 1);
  const std::vector<LengthGroup> groups = {Group(10, 1, 1, 1, 3), Group(100, 2, 1, 1, 4)};
  const auto packed = PackByGroups(samples.lengths(), groups, {});
  EXPECT_TRUE(packed.packing.oversize.empty());
  EXPECT_EQ(packed.packing.members.size(), 15u);
  const auto sums = SumsOf(samples.lengths(), packed.packing);
  for (size_t p = 0; p < sums.size(); ++p) {
    const size_t g = static_cast<int64_t>(p) >= packed.first_pack[1];
    EXPECT_TRUE(groups[g].caps.Hold(sums[p].units, sums[p].tokens));
  }
  EXPECT_EQ(TokensIn(samples, packed, 1), (std::vector<int32_t>{90, 5, 1}));
}

TEST(LengthGroupsTest, NothingAndOneGroup) {
  const std::vector<LengthGroup> one = {Group(100, 1, 2)};
  EXPECT_EQ(PackByGroups(MixedSamples().lengths(), one, {}).first_pack,
            (std::vector<int64_t>{0, 0}));
  MixedSamples samples;
  samples.Add(40, 5);
  EXPECT_EQ(PackByGroups(samples.lengths(), one, {}).first_pack, (std::vector<int64_t>{0, 3}));
  const GroupedOrder none = DealByGroups({}, std::vector<int64_t>{0, 0}, one, {}, 10);
  EXPECT_TRUE(none.order.empty());
  EXPECT_TRUE(none.step_group.empty());
}

struct Dealt {
  GroupedOrder order;
  std::vector<LengthGroup> groups = {Group(10, 1, 4), Group(100, 2, 2, 2)};

  explicit Dealt(int64_t epoch, int64_t curriculum) {
    DealRule rule;
    rule.epoch = epoch;
    order = DealByGroups(std::vector<PackWork>(42 + 16, PackWork{0, 7}),
                         std::vector<int64_t>{0, 42, 58}, groups, rule, curriculum);
  }
};

TEST(LengthGroupsTest, StepsOfBothGroupsAreMixedAndTheOneThatLacksPacksIsLast) {
  const Dealt dealt(0, 0);
  const std::vector<int32_t>& of = dealt.order.step_group;
  ASSERT_EQ(of.size(), 15u);
  EXPECT_EQ(of.back(), 0);
  EXPECT_EQ(std::count(of.begin(), of.end(), 1), 4);
  EXPECT_FALSE(std::is_sorted(of.begin(), of.end()));
  const auto& order = dealt.order.order;
  EXPECT_EQ(std::count(order.begin(), order.end() - 4, -1), 0);
  EXPECT_EQ(std::count(order.end() - 4, order.end(), -1), 2);
  for (size_t step = 0; step < of.size(); ++step)
    for (size_t i = 4 * step; i < 4 * step + 4; ++i)
      EXPECT_TRUE(order[i] < 0 || (order[i] >= 42) == (of[step] == 1));
  EXPECT_NE(Dealt(1, 0).order.step_group, of);
}

TEST(LengthGroupsTest, TheCurriculumIsCountedOverEpochs) {
  EXPECT_EQ(Dealt(0, 5).order.curriculum_steps, 5);
  const Dealt dealt(1, 18);  // 15 steps per epoch
  EXPECT_EQ(dealt.order.curriculum_steps, 3);
  const auto& of = dealt.order.step_group;
  EXPECT_EQ(std::count(of.begin(), of.begin() + 3, 0), 3);
  EXPECT_EQ(Dealt(2, 18).order.curriculum_steps, 0);
  EXPECT_EQ(Dealt(0, 1000).order.curriculum_steps, 10);  // all full steps
}

// Packs the mix from HBP's description, in groups of 16K on one GPU and 128K on eight, on 32 GPUs.
TEST(LengthGroupsTest, LongMix) {
  const LongMix mix = MakeLongMix();
  PackingJob job;
  job.deal.window = 0;
  job.groups = {Group(16384, 1, 32), Group(131072, 8, 4)};
  const PackingResult result = PackAndDeal(mix.lengths(), job);
  EXPECT_EQ(result.packing.members.size(), mix.tokens.size());
  EXPECT_EQ(result.groups.of[1].packs, 1204);
  EXPECT_LE(result.balance.dist_ratio_tokens, .001);
  EXPECT_LE(result.balance.dist_ratio_attention, .002);
  EXPECT_LE(result.groups.communication_ratio, 1.02 * .17275);
  EXPECT_GE(result.token_fill, .997);
  RecordProperty("dist_ratio_tokens", std::to_string(result.balance.dist_ratio_tokens));
  RecordProperty("dist_ratio_attention", std::to_string(result.balance.dist_ratio_attention));
  RecordProperty("communication_ratio", std::to_string(result.groups.communication_ratio));
}

}  // namespace
}  // namespace evenkeel::planner
