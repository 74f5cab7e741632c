#include "planner/candidates/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "planner/base/random.h"
#include "planner/cuts/even_cuts.h"
#include "planner/search/search.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// Draws, at random, a cut of the chain into `segments` segments, each with a transformer layer, and
// the recompute.
Candidate RandomCandidate(Random& random, const Job& job, const LayerProfile& profile,
                          const Parallelism& p, Schedule schedule, int64_t m) {
  const int64_t segments = p.pipeline * p.virtual_stages;
  std::set<int64_t> cuts;  // transformer layers in front of a boundary
  while (static_cast<int64_t>(cuts.size()) < segments - 1) {
    cuts.insert(1 + static_cast<int64_t>(
                        random.Below(static_cast<uint64_t>(profile.transformer_layers - 1))));
  }
  std::vector<int64_t> boundaries{0};
  int64_t layers = 0;
  for (int64_t i = 0; i < profile.size(); ++i) {
    if (!IsTransformerLayer(profile.at(i).kind)) continue;
    if (cuts.contains(layers++)) boundaries.push_back(i);
  }
  boundaries.push_back(profile.size());
  std::vector<ModeCounts> recomputed(static_cast<size_t>(segments));
  for (size_t s = 0; s < recomputed.size(); ++s) {
    for (int64_t i = boundaries[s]; i < boundaries[s + 1]; ++i) {
      const size_t modes = profile.at(i).modes.size();
      const size_t mode = random.Below(3) == 0 ? random.Below(modes) : 0;
      if (mode > 0)
        ++recomputed[s][static_cast<size_t>(profile.chain[static_cast<size_t>(i)])][mode];
    }
  }
  return Evaluate(job, profile, p, m, boundaries, recomputed, {PackShape{1, 100, 1e4}}, schedule);
}

Parallelism RandomDegrees(Random& random, int64_t layers, Schedule schedule) {
  Parallelism p{.tensor = int64_t{1} << random.Below(3), .data = 1};
  p.pipeline = 1 + static_cast<int64_t>(random.Below(6));
  if (schedule == Schedule::kInterleaved) {
    p.pipeline = std::max<int64_t>(2, p.pipeline);
    p.virtual_stages =
        2 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(layers / p.pipeline - 1)));
  }
  p.data = int64_t{1} << random.Below(3);
  return p;
}

class PipelineBoundTest : public testing::TestWithParam<Schedule> {};

// No partition, with or without recompute, ends before the bound of its parallelism.
TEST_P(PipelineBoundTest, NoPartitionIsQuicker) {
  Random random(11);
  const Schedule schedule = GetParam();
  double closest = 1e9;
  for (int round = 0; round < 400; ++round) {
    Job job = round % 2 == 0 ? QuickstartJob() : TextJob("llama3-8b", "h100-sxm-80gb", 32);
    if (round % 3 == 0 && !job.model.towers.empty())
      job.model.towers[0].encoder.train = TrainMode::kFrozen;
    job.model.language_model.layers = 16;
    if (!job.model.towers.empty()) job.model.towers[0].encoder.layers = 8;
    if (round % 5 == 0) job.cluster.inter_node_bytes_per_second = 1e8;
    job.cluster.gpus_per_node = int64_t{1} << random.Below(4);
    const Parallelism p = RandomDegrees(random, 16, schedule);
    const int64_t m = schedule == Schedule::kInterleaved
                          ? p.pipeline + static_cast<int64_t>(random.Below(20))
                          : 1 + static_cast<int64_t>(random.Below(24));
    const double scale = 1 + static_cast<double>(random.Below(4000));
    const PackShape pack{scale / 100, scale, scale * 1000};
    const LayerProfile profile = BuildLayerProfile(job, p, pack, pack);
    const ChainWork work = ChainWorkOf(profile);
    const int64_t bound = PipelineBound(work, p, schedule, m, LeastSend(job, p, work));
    const Candidate c = RandomCandidate(random, job, profile, p, schedule, m);
    EXPECT_LE(bound, c.step.pipeline_ns) << round;
    EXPECT_LE(bound + SyncBound(job, profile, p), c.step.total_ns()) << round;
    closest =
        std::min(closest, static_cast<double>(c.step.pipeline_ns) / static_cast<double>(bound));
  }
  EXPECT_LT(closest, 1.15) << "a bound that is never near says little";
}

INSTANTIATE_TEST_SUITE_P(Schedules, PipelineBoundTest,
                         testing::Values(Schedule::kOneFOneB, Schedule::kInterleaved,
                                         Schedule::kGPipe, Schedule::kZeroBubble));

// A chain with a layer that takes no time forward has no certain work in front of a stage.
TEST(PipelineBoundTest, WithoutForwardWorkStagesShareTheWorkEvenly) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const Parallelism p{1, 4, 2};
  const PackShape pack{0, 4096, 4096.0 * 4096};
  ChainWork work = ChainWorkOf(BuildLayerProfile(job, p, pack, pack));
  work.least_forward = 0;
  const int64_t bound = PipelineBound(work, p, Schedule::kZeroBubble, 8, 0);
  EXPECT_GE(bound, static_cast<int64_t>(0.999 * 8 / 4 * static_cast<double>(work.total_ns)));
}

// With a slow network between data-parallel ranks, the estimate is near what an even cut pays.
TEST(SyncEstimateTest, CountsTheExchangeThatPassesCannotHide) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 64);
  job.cluster.gpus_per_node = 4;  // so that ranks exchange between nodes
  job.cluster.inter_node_bytes_per_second = 1e7;
  const PackShape pack{0, 4096, 4096.0 * 4096};
  for (const int64_t stages : {2, 4, 8}) {
    const Parallelism p{.tensor = 4, .pipeline = stages, .data = 16 / stages};
    const LayerProfile profile = BuildLayerProfile(job, p, pack, pack);
    const Candidate even = Evaluate(job, profile, p, 8, EvenLayerCut(profile, p),
                                    std::vector<ModeCounts>(static_cast<size_t>(stages)), {pack});
    const double paid = static_cast<double>(even.step.data_sync_ns + even.step.optimizer_ns);
    EXPECT_GT(paid, 1e9) << stages;
    EXPECT_NEAR(static_cast<double>(SyncEstimate(job, profile, p)), paid, 0.3 * paid) << stages;
  }
}

// Returns the least end over all ways to give `left` layers to the stages from `s` on.
int64_t LeastEnd(const ChainWork::Class& layers, int64_t s, int64_t stages, int64_t m,
                 int64_t delay, int64_t left) {
  if (s == stages) return left == 0 ? 0 : std::numeric_limits<int64_t>::max();
  int64_t least = std::numeric_limits<int64_t>::max();
  const int64_t ends = (s == 0 ? layers.first_ns : 0) + (s + 1 == stages ? layers.last_ns : 0);
  for (int64_t n = 0; n <= left; ++n) {
    const int64_t own = m * (layers.TimeOf(n) + ends) + s * delay;
    least = std::min(least, std::max(own, LeastEnd(layers, s + 1, stages, m, delay, left - n)));
  }
  return least;
}

TEST(ChainWorkTest, WholeLayersAreTheLeastOfAllSplits) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    const auto draw = [&](uint64_t most) { return static_cast<int64_t>(random.Below(most + 1)); };
    ChainWork work;
    const int64_t stages = 1 + draw(4), m = 1 + draw(9), delay = draw(20);
    work.classes.push_back({.layers = 1 + draw(9),
                            .each_ns = 1 + draw(30),
                            .block = draw(3),
                            .repeated_ns = draw(10),
                            .first_ns = draw(60),
                            .last_ns = draw(60)});
    const ChainWork::Class& only = work.classes.front();
    const int64_t bound = work.WholeLayers(stages, m, delay);
    EXPECT_EQ(bound, LeastEnd(only, 0, stages, m, delay, only.layers)) << round;
  }
}

TEST(ChainWorkTest, OneStageIsItsWork) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const PackShape pack{0, 4096, 4096.0 * 4096};
  const LayerProfile profile = BuildLayerProfile(job, {}, pack, pack);
  const ChainWork work = ChainWorkOf(profile);
  EXPECT_NEAR(static_cast<double>(PipelineBound(work, {}, Schedule::kOneFOneB, 7, 0)),
              7.0 * static_cast<double>(work.total_ns),
              1e-8 * 7 * static_cast<double>(work.total_ns));
}

}  // namespace
}  // namespace evenkeel::planner
