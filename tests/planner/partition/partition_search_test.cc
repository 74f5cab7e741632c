// tests/reference tests exactness; this file tests shapes and stops.
#include "planner/partition/partition_search.h"
#include "planner/partition/methods.h"

#include <gtest/gtest.h>

#include "planner/search/search.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kPartitionPack{.units = 9, .tokens = 4096, .squared = 4096.0 * 2048};

int64_t TransformerLayers(const LayerProfile& profile, int64_t begin, int64_t end) {
  int64_t layers = 0;
  for (int64_t i = begin; i < end; ++i) layers += IsTransformerLayer(profile.at(i).kind) ? 1 : 0;
  return layers;
}

TEST(SplitByParametersTest, GivesEveryStageALayerAndNearlyEqualParts) {
  const Job job = QuickstartJob();
  for (const int64_t stages : {1, 2, 4, 8, 31, 93}) {
    const LayerProfile profile =
        BuildLayerProfile(job, {1, stages, 1}, kPartitionPack, kPartitionPack);
    const std::vector<int64_t> split = SplitByParameters(profile, stages);
    ASSERT_EQ(static_cast<int64_t>(split.size()), stages + 1);
    EXPECT_EQ(split.front(), 0);
    EXPECT_EQ(split.back(), profile.size());
    int64_t most = 0, total = 0;
    for (size_t s = 0; s + 1 < split.size(); ++s) {
      EXPECT_GE(TransformerLayers(profile, split[s], split[s + 1]), 1);
      int64_t parameters = 0;
      for (int64_t i = split[s]; i < split[s + 1]; ++i) parameters += profile.at(i).parameters;
      most = std::max(most, parameters), total += parameters;
    }
    if (stages <= 8) {
      EXPECT_LT(most, total / stages + 1'200'000'000);
    }
  }
}

TEST(SegmentTableTest, FixedPartitionAdmitsItselfAlone) {
  Job job = QuickstartJob();
  job.constraints.stage_layers = {22, 23, 24, 24};
  const Parallelism p{2, 4, 4};
  const LayerProfile profile = BuildLayerProfile(job, p, kPartitionPack, kPartitionPack);
  const SegmentTable table(job, profile, p, 8);
  const PartitionSearchResult found = FindPartition(table, 8, nullptr);
  ASSERT_TRUE(found.best);
  // The patch embedding goes with the first stage, the projector with the second, and the token
  // embedding and head with those of the language model.
  EXPECT_EQ(found.best->boundaries, (std::vector<int64_t>{0, 23, 47, 72, 97}));
}

TEST(FindPartitionTest, WithOnePackTheSumAloneCounts) {
  const Job job = QuickstartJob();
  const Parallelism p{2, 4, 4};
  const LayerProfile profile = BuildLayerProfile(job, p, kPartitionPack, kPartitionPack);
  const SegmentTable table(job, profile, p, 1);
  const PartitionSearchResult found = FindPartition(table, 1, nullptr);
  ASSERT_TRUE(found.best);
  EXPECT_EQ(found.best->closed_form_ns, found.best->sum_ns);
}

TEST(FindPartitionTest, ClosedFormRelations) {
  const Job job = QuickstartJob();
  int64_t before = 0;
  for (const int64_t m : {1, 2, 4, 8, 64}) {
    const Parallelism p{2, 4, 4};
    const LayerProfile profile = BuildLayerProfile(job, p, kPartitionPack, kPartitionPack);
    const SegmentTable table(job, profile, p, m);
    const Partition best = *FindPartition(table, m, nullptr).best;
    EXPECT_EQ(best.closed_form_ns, (m - 1) * best.slowest_ns + best.sum_ns);
    EXPECT_GE(best.slowest_ns * 4, best.sum_ns);
    EXPECT_GT(best.closed_form_ns, before);
    before = best.closed_form_ns;
  }
}

TEST(FindPartitionTest, StopsWhenever) {
  const Job job = QuickstartJob();
  const Parallelism p{2, 4, 4};
  const LayerProfile profile = BuildLayerProfile(job, p, kPartitionPack, kPartitionPack);
  const SegmentTable table(job, profile, p, 8);
  bool done = false;
  for (int calls = 0; calls < 1000 && !done; ++calls) {
    int left = calls;
    const PartitionSearchResult found = FindPartition(table, 8, [&] { return left-- <= 0; });
    EXPECT_EQ(found.stopped, left < 0);
    done = !found.stopped;
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace evenkeel::planner
