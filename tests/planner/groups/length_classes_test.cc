#include "planner/groups/length_classes.h"

#include <gtest/gtest.h>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Job SmallJob() {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.dataset = {.bins = {{0, 1000, 100}, {0, 9000, 4}, {0, 30000, 3}}};
  return job;
}

TEST(LengthClassesTest, LengthsArePowersOfTwoBelowTheLongestSample) {
  const Job job = SmallJob();
  EXPECT_EQ(LengthClasses(job).lengths(), (std::vector<int64_t>{8192, 16384, 30080}));
}

TEST(LengthClassesTest, TakesTheLengthsOfTheJobBelowTheLongest) {
  Job job = SmallJob();
  job.training.group_lengths = {4096, 10240, 65536};
  EXPECT_EQ(LengthClasses(job).lengths(), (std::vector<int64_t>{4096, 10240, 30080}));
}

TEST(LengthClassesTest, KeepsTheLongestFewOfTooManyLengths) {
  Job job = SmallJob();
  job.dataset.bins.push_back({0, 16'777'216, 1});
  const LengthClasses classes(job);
  EXPECT_EQ(classes.size(), 12u);
  EXPECT_EQ(classes.lengths().front(), 8192);
  EXPECT_EQ(classes.lengths().back(), 16'777'216);
}

TEST(LengthClassesTest, AddsUpSamplesByClass) {
  const Job job = SmallJob();
  const LengthClasses classes(job);
  const ClassSums middle = classes.Sums(1, 1);
  EXPECT_EQ(middle.samples, 4);
  EXPECT_EQ(middle.sum.tokens, 36000);
  EXPECT_EQ(middle.sum.squared, 4 * 9000. * 9000);
  EXPECT_EQ(middle.longest, 9000);
  EXPECT_EQ(classes.Sums(0, 2).sum.tokens, 226000);
  EXPECT_EQ(classes.Samples(1, 2).bins.size(), 2u);
}

TEST(LengthClassesTest, PacksOfLongSamplesAreFilledUpWithShortOnes) {
  const Job job = SmallJob();
  const LengthClasses classes(job);
  // No two samples of 9000 share a pack of 16384.
  const ClassPacks& packs = classes.Packs(1, 1);
  EXPECT_EQ(packs.packs, 4);
  EXPECT_EQ(packs.filler_tokens, 4 * 16384 - 36000);
  EXPECT_EQ(packs.mean.tokens, 16384);
  EXPECT_EQ(packs.mean.squared, 9000. * 9000 + 7384 * 1000.);
  EXPECT_EQ(packs.largest.tokens, 16384);
  // No sample is shorter than the shortest class.
  EXPECT_EQ(classes.Packs(0, 0).filler_tokens, 0);
}

TEST(LengthClassesTest, UnitsOfAPackGrowWithItsLength) {
  Job job = SmallJob();
  job.dataset = {.bins = {{1, 1000, 100}, {40, 12000, 3}}};
  const LengthClasses classes(job);
  EXPECT_EQ(classes.Packs(0, 0).caps.units, 8);
  EXPECT_EQ(classes.Packs(0, 1).caps.units, 12032 * 40 / 12000);
}

}  // namespace
}  // namespace evenkeel::planner
