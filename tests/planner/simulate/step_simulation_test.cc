#include "planner/simulate/step_simulation.h"

#include <gtest/gtest.h>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kSimulatedPack{.units = 9, .tokens = 4096, .squared = 4096.0 * 2048};

struct Setting {
  Job job = QuickstartJob();
  Parallelism p{2, 4, 4};
  LayerProfile profile = BuildLayerProfile(job, p, kSimulatedPack, kSimulatedPack);
  std::vector<SegmentWork> stages =
      WorkOfSegments(job, profile, p, {0, 23, 47, 72, 97}, std::vector<ModeCounts>(4));
};

PipelineShape Shape(const Setting& s, int64_t micro_batches) {
  return {.stages = s.p.pipeline, .micro_batches = micro_batches};
}

TEST(StageWorksTest, AddsUpToTheWholeModel) {
  const Setting s;
  int64_t forward = 0, parameters = 0, whole = 0, whole_parameters = 0;
  for (const SegmentWork& w : s.stages) forward += w.forward_ns, parameters += w.parameters;
  for (int64_t i = 0; i < s.profile.size(); ++i) {
    whole += s.profile.at(i).forward_ns;
    whole_parameters += s.profile.at(i).parameters;
  }
  EXPECT_EQ(forward, whole);
  EXPECT_EQ(parameters, whole_parameters);
  EXPECT_EQ(s.stages.back().send_ns, 0);
  EXPECT_GT(s.stages.front().send_ns, 0);
  // At the mean pack, the cost of a pack equals the mean cost.
  for (const SegmentWork& w : s.stages)
    EXPECT_NEAR(w.forward.at(kSimulatedPack), static_cast<double>(w.forward_ns), 50);
}

TEST(SimulateStepTest, EqualPacksAddNoImbalance) {
  const Setting s;
  const SimulatedStep step =
      SimulateStep(s.job, s.p, Shape(s, 8), s.stages, std::vector<PackShape>(100, kSimulatedPack));
  EXPECT_LT(step.imbalance_ns, step.pipeline_ns / 100'000);
  EXPECT_EQ(step.total_ns(),
            step.pipeline_ns + step.imbalance_ns + step.data_sync_ns + step.optimizer_ns);
  EXPECT_GT(step.data_sync_ns, 0);
  EXPECT_GT(step.optimizer_ns, 0);
}

TEST(SimulateStepTest, SpreadCostsTime) {
  const Setting s;
  std::vector<PackShape> packs;
  for (int i = 0; i < 100; ++i)
    packs.push_back({i % 3 == 0 ? 3.0 : 12.0, i % 5 == 0 ? 1000.0 : 4870.0, 4096.0 * 2048});
  EXPECT_GT(SimulateStep(s.job, s.p, Shape(s, 8), s.stages, packs).imbalance_ns, 0);
}

// Passes of a broken group would wait for packs that are missing, and count as no time.
TEST(SimulateStepTest, FewerInterleavedPacksComeInWholeGroups) {
  const Setting s;
  const std::vector<SegmentWork> segments = WorkOfSegments(
      s.job, s.profile, s.p, {0, 12, 24, 36, 48, 60, 72, 84, 97}, std::vector<ModeCounts>(8));
  const PipelineShape shape{
      .schedule = Schedule::kInterleaved, .stages = 4, .chunks = 2, .micro_batches = 64};
  std::vector<PackShape> packs;
  for (int i = 0; i < 500; ++i)
    packs.push_back({i % 3 == 0 ? 3.0 : 12.0, i % 5 == 0 ? 1000.0 : 4870.0, 4096.0 * 2048});
  const int64_t groups = 8 * 28, broken = 8 * 30;  // events of 28 and 30 packs in 8 segments
  EXPECT_TRUE(SimulatesAlike(s.job, s.p, shape, groups, broken));
  EXPECT_FALSE(SimulatesAlike(s.job, s.p, shape, 8 * 60, 8 * 64));  // one group is left out
  EXPECT_EQ(SimulateStep(s.job, s.p, shape, segments, packs, groups).total_ns(),
            SimulateStep(s.job, s.p, shape, segments, packs, broken).total_ns());
}

TEST(SimulateStepTest, MillionsOfPacksPerRankContinueTheRhythm) {
  const Setting s;
  const std::vector<PackShape> packs(10, kSimulatedPack);
  const SimulatedStep few = SimulateStep(s.job, s.p, Shape(s, 100'000), s.stages, packs);
  const SimulatedStep more = SimulateStep(s.job, s.p, Shape(s, 100'001), s.stages, packs);
  const SimulatedStep many = SimulateStep(s.job, s.p, Shape(s, 10'000'000), s.stages, packs);
  EXPECT_GT(more.pipeline_ns, few.pipeline_ns);
  const double ratio = static_cast<double>(many.pipeline_ns) / static_cast<double>(few.pipeline_ns);
  EXPECT_NEAR(ratio, 100, 0.01);
  int64_t slowest = 0;
  for (const SegmentWork& w : s.stages) slowest = std::max(slowest, w.forward_ns + w.backward_ns);
  EXPECT_GE(many.pipeline_ns, 10'000'000 * slowest);
}

// Megatron-LM's group depends on the number of micro-batches. If fewer stand for more, they keep
// the group.
TEST(SimulateStepTest, TheRhythmIsThatOfTheSameGroups) {
  constexpr int64_t kStages = 42, kChunks = 2;
  std::vector<SegmentWork> segments(kStages * kChunks);
  for (size_t i = 0; i < segments.size(); ++i) {
    segments[i].forward_ns = 60'000'000 + static_cast<int64_t>(i % 5) * 100'000;
    segments[i].backward_ns = 2 * segments[i].forward_ns;
    segments[i].send_ns = 3'000'000;
  }
  for (const int64_t micro_batches : {4800, 5000, 7576, 7577, 9999}) {
    const PipelineShape shape{Schedule::kInterleaved, kStages, kChunks, micro_batches};
    ASSERT_GT(micro_batches * shape.virtual_stages(), kEventsAtMost);
    const double whole = static_cast<double>(PipelineEnd(MeanPackPipeline(shape, segments)));
    const double in_rhythm = static_cast<double>(SimulateMeanPacks(shape, segments));
    EXPECT_NEAR(in_rhythm / whole, 1, 1e-3) << micro_batches << " in groups of " << shape.group();
  }
}

}  // namespace
}  // namespace evenkeel::planner
