#include "planner/simulate/mean_pack_bound.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/simulate/pipeline.h"
#include "tests/planner/jobs.h"
#include "tests/planner/simulate/pipelines.h"

namespace evenkeel::planner {
namespace {

std::string Told(const PipelineShape& shape) {
  return std::to_string(static_cast<int>(shape.schedule)) + ": " + std::to_string(shape.stages) +
         " stages, " + std::to_string(shape.chunks) + " chunks, " +
         std::to_string(shape.micro_batches) + " packs";
}

std::vector<SegmentWork> DrawSegments(Random& random, const PipelineShape& shape) {
  const int64_t most = Draw(random, 1, 31), sends = Draw(random, 0, 10);
  std::vector<SegmentWork> segments(static_cast<size_t>(shape.virtual_stages()));
  for (SegmentWork& work : segments) {
    work.forward_ns = Draw(random, 0, most);
    work.weight_gradient_ns = Draw(random, 0, most);
    work.backward_ns = work.weight_gradient_ns + Draw(random, 0, most);
    work.recompute_ns = Draw(random, 0, 1) * work.forward_ns;
    work.send_ns = Draw(random, 0, sends);
  }
  return segments;
}

// The simulation of one order is the least step of that order, so no bound may be above it.
TEST(MeanPacksAtLeastTest, IsNeverAboveTheSimulation) {
  Random random(7);
  int64_t reached = 0, all = 0;
  for (const Schedule schedule : kSchedules) {
    for (int64_t stages = 1; stages <= 6; ++stages) {
      for (int64_t chunks = 1; chunks <= (HasChunks(schedule) ? 4 : 1); ++chunks) {
        for (int64_t m = 1; m <= 3 * stages + 2; ++m) {
          const PipelineShape shape{schedule, stages, chunks, m};
          for (int trial = 0; trial < 20; ++trial) {
            const std::vector<SegmentWork> segments = DrawSegments(random, shape);
            const int64_t bound = MeanPacksAtLeast(shape, segments);
            const int64_t end = PipelineEnd(MeanPackPipeline(shape, segments));
            ASSERT_LE(bound, end) << Told(shape);
            if (schedule != Schedule::kZeroBubble) reached += bound == end ? 1 : 0, ++all;
          }
        }
      }
    }
  }
  EXPECT_GT(reached, all * 2 / 5);  // and often reaches it
}

TEST(MeanPacksAtLeastTest, IsTheStepOfEqualSegments) {
  for (int64_t stages = 1; stages <= 6; ++stages) {
    for (int64_t chunks = 1; chunks <= 4; ++chunks) {
      const PipelineShape shape{Schedule::kInterleaved, stages, chunks, 3 * stages};
      SegmentWork work;
      work.forward_ns = 3, work.backward_ns = 5;
      const std::vector<SegmentWork> segments(static_cast<size_t>(shape.virtual_stages()), work);
      EXPECT_EQ(MeanPacksAtLeast(shape, segments), PipelineEnd(MeanPackPipeline(shape, segments)))
          << Told(shape);
    }
  }
}

// Steps with exchange and optimizer, simulated whole and extrapolated from their beginning.
TEST(MeanPackStepBoundTest, IsNeverAboveTheStep) {
  const Job job = QuickstartJob();
  constexpr PackShape kPack{.units = 9, .tokens = 4096, .squared = 4096.0 * 2048};
  Random random(3);
  for (int trial = 0; trial < 100; ++trial) {
    for (const Schedule schedule : kSchedules) {
      Parallelism p{2, 4, 4};
      p.virtual_stages = HasChunks(schedule) ? 2 : 1;
      const LayerProfile profile = BuildLayerProfile(job, p, kPack, kPack);
      const int64_t count = 4 * p.virtual_stages;
      std::vector<int64_t> boundaries{0};
      for (int64_t k = 1; k < count; ++k)
        boundaries.push_back(96 / count * k + Draw(random, -4, 4));
      boundaries.push_back(profile.size());
      const std::vector<SegmentWork> segments = WorkOfSegments(
          job, profile, p, boundaries, std::vector<ModeCounts>(static_cast<size_t>(count)));
      const PipelineShape shape = ShapeOf(p, schedule, Draw(random, 1, 60));
      for (const int64_t events : {64, 200, 3000}) {
        StepCache cache(job, p);
        const int64_t bound = MeanPackStepBound(job, shape, events).AtLeast(segments, cache);
        const int64_t step = MeanPackStep(job, p, shape, segments, &cache, events).total_ns();
        ASSERT_LE(bound, step) << Told(shape) << ", " << events << " events";
        EXPECT_GT(bound, step / 2) << Told(shape);
      }
    }
  }
}

// One bound for all cuts of a shape, with so many chunks that the slowdown of overlapped passes is
// counted in part.
TEST(MeanPackStepBoundTest, KeepsNothingOfTheCutBefore) {
  Job job = QuickstartJob();
  job.cluster.inter_node_bytes_per_second = 2e9;
  constexpr PackShape kPack{.units = 9, .tokens = 4096, .squared = 4096.0 * 2048};
  Parallelism p{2, 4, 4};
  p.virtual_stages = 10;
  const LayerProfile profile = BuildLayerProfile(job, p, kPack, kPack);
  const PipelineShape shape = ShapeOf(p, Schedule::kInterleaved, 8);
  const int64_t count = shape.virtual_stages();
  StepCache cache(job, p);
  MeanPackStepBound kept(job, shape, 3000);
  Random random(4);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<int64_t> boundaries{0};
    for (int64_t k = 1; k < count; ++k)
      boundaries.push_back(profile.size() * k / count + Draw(random, 0, 1));
    boundaries.push_back(profile.size());
    const std::vector<SegmentWork> segments = WorkOfSegments(
        job, profile, p, boundaries, std::vector<ModeCounts>(static_cast<size_t>(count)));
    const int64_t bound = kept.AtLeast(segments, cache);
    EXPECT_EQ(bound, MeanPackStepBound(job, shape, 3000).AtLeast(segments, cache)) << trial;
    EXPECT_LE(bound, MeanPackStep(job, p, shape, segments, &cache, 3000).total_ns()) << trial;
  }
}

}  // namespace
}  // namespace evenkeel::planner
