#include "planner/groups/group_sets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/jobs.h"
#include "tests/planner/long_mix.h"

namespace evenkeel::planner {
namespace {

const LongMix& MixOfSets() {
  static const LongMix mix = MakeLongMix({.short_samples = 46'967, .long_samples = 100});
  return mix;
}

std::vector<int64_t> LengthsOf(const LengthClasses& classes, const GroupSet& set) {
  std::vector<int64_t> lengths;
  for (const ChosenGroup& group : set.groups) lengths.push_back(classes.lengths()[group.to]);
  return lengths;
}
std::vector<int64_t> DegreesOf(const GroupSet& set) {
  std::vector<int64_t> degrees;
  for (const ChosenGroup& group : set.groups) degrees.push_back(group.step.parallelism.context);
  return degrees;
}

TEST(FamiliesTest, DifferInContextAndDataAlone) {
  Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, MixOfSets());
  ASSERT_EQ(Families(job).size(), 1u);
  const Family family = Families(job).front();
  EXPECT_EQ(family.front().context, 1);
  EXPECT_EQ(family.back().context, 32);  // limited by Llama's heads
  for (const Parallelism& p : family) EXPECT_EQ(p.context * p.data, 32);
}

// Table 11 of HBP gives {16K, 128K} with SP {1, 8}, found with about 60 profiled iterations.
TEST(PublishedGroupsTest, FindsThePublishedGroupsOfLlama8B) {
  const Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, MakeLongMix());
  const LengthClasses classes(job);
  const Family family = Families(job).front();
  GroupSteps alone(job, classes, family, GroupBatch::kOnePackPerRank);
  GroupSteps steps(job, classes, family, GroupBatch::kGlobal);
  const GroupSet set = PublishedGroups(alone, steps, classes);
  EXPECT_EQ(LengthsOf(classes, set), (std::vector<int64_t>{16384, 131072}));
  EXPECT_EQ(DegreesOf(set), (std::vector<int64_t>{1, 8}));
}

TEST(GroupSetsTest, ExactIsNoWorseThanAnyAndNoBetterThanTheBound) {
  for (const ZeroStage stage : {ZeroStage::kOptimizer, ZeroStage::kWeights}) {
    const Job job = HbpJob("llama3-8b", stage, MixOfSets());
    const LengthClasses classes(job);
    const Family family = Families(job).front();
    GroupSteps alone(job, classes, family, GroupBatch::kOnePackPerRank);
    GroupSteps steps(job, classes, family, GroupBatch::kGlobal);
    const GroupSet exact = ExactGroups(steps, classes);
    EXPECT_LE(exact.epoch_ns, PublishedGroups(alone, steps, classes).epoch_ns);
    EXPECT_LE(exact.epoch_ns, SetOf(steps, classes, {{classes.size() - 1, 0}}).epoch_ns);
    EXPECT_GE(exact.epoch_ns, EpochBound(steps, classes));
    EXPECT_EQ(exact.examined, 16);
  }
}

TEST(GroupSetsTest, ADegreeThatDoesNotFitGivesWay) {
  const Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, MixOfSets());
  const LengthClasses classes(job);
  const Family family = Families(job).front();
  GroupSteps steps(job, classes, family, GroupBatch::kGlobal);
  EXPECT_EQ(steps.With(0, classes.size() - 1, 1), nullptr);  // 128K tokens on one GPU
  const GroupSet set = SetOf(steps, classes, {{classes.size() - 1, 1}});
  ASSERT_EQ(set.groups.size(), 1u);
  EXPECT_GE(set.groups.front().step.parallelism.context, 8);
}

TEST(GroupSetsTest, NothingFits) {
  const Job job = HbpJob("llama3.1-405b", ZeroStage::kOptimizer, MixOfSets());
  const LengthClasses classes(job);
  const Family family = Families(job).front();
  GroupSteps steps(job, classes, family, GroupBatch::kGlobal);
  EXPECT_TRUE(ExactGroups(steps, classes).groups.empty());
  EXPECT_TRUE(PublishedGroups(steps, steps, classes).groups.empty());
}

// HBP, table 4: the fewest layers to recompute depend only on the tokens of a GPU.
TEST(GroupStepsTest, RingAndUlyssesAreLimitedByHeadsAsPublished) {
  Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, MixOfSets());
  job.cluster = ClusterOf("h100-sxm-80gb", 64);
  EXPECT_EQ(Families(job).front().back().context, 32);
  job.training.execution.context = ContextKind::kRing;
  EXPECT_EQ(Families(job).front().back().context, 64);
}

}  // namespace
}  // namespace evenkeel::planner
