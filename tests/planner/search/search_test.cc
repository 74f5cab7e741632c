#include "planner/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr double kManyPacks = 1e9;

TEST(ParallelismsTest, AreAllDivisors) {
  const Job job = TextJob("llama3-8b", "a100-sxm-80gb", 48);  // 32 layers, 8 key-value heads
  std::set<std::tuple<int64_t, int64_t, int64_t>> expected, own;
  for (const int64_t t : {1, 2, 4, 8}) {
    for (int64_t p = 1; p <= 32; ++p) {
      if (48 % (t * p) == 0) expected.insert({t, p, 48 / t / p});
    }
  }
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) {
    EXPECT_EQ(p.tensor * p.pipeline * p.data, 48);
    EXPECT_TRUE(own.insert({p.tensor, p.pipeline, p.data}).second);
  }
  EXPECT_EQ(own, expected);
}

TEST(ParallelismsTest, HoldConstraints) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 64);
  job.constraints.tensor_parallel = {2, 4};
  job.constraints.pipeline_parallel = {4, 0};
  job.constraints.data_parallel = {1, 4};
  const std::vector<Parallelism> all = Parallelisms(job, kManyPacks);
  EXPECT_FALSE(all.empty());
  for (const Parallelism& p : all) {
    EXPECT_TRUE(p.tensor == 2 || p.tensor == 4);
    EXPECT_GE(p.pipeline, 4);
    EXPECT_LE(p.data, 4);
  }
  job.constraints.stage_layers.assign(16, 2);
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) EXPECT_EQ(p.pipeline, 16);
  FixDegrees(job, 3, 1, 1);
  EXPECT_TRUE(Parallelisms(job, kManyPacks).empty());
}

TEST(ParallelismsTest, NoMoreRanksThanPacksUnlessNothingElseRemains) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 64);
  for (const Parallelism& p : Parallelisms(job, 5.5)) EXPECT_LE(p.data, 5);
  FixDegrees(job, 1, 1, 64);
  ASSERT_EQ(Parallelisms(job, 5.5).size(), 1u);
  EXPECT_EQ(Parallelisms(job, 5.5)[0], (Parallelism{1, 1, 64}));
}

TEST(ParallelismsTest, PrimeCountsAndOne) {
  EXPECT_EQ(Parallelisms(TextJob("llama3-8b", "a100-sxm-80gb", 1), kManyPacks).size(), 1u);
  const std::vector<Parallelism> prime =
      Parallelisms(TextJob("llama3-8b", "a100-sxm-80gb", 13), kManyPacks);
  EXPECT_EQ(prime, (std::vector<Parallelism>{{1, 1, 13}, {1, 13, 1}}));
}

TEST(MicroBatchesTest, NearestAndAtLeastOne) {
  EXPECT_EQ(MicroBatches(100, 8), 13);
  EXPECT_EQ(MicroBatches(99, 8), 12);
  EXPECT_EQ(MicroBatches(0.2, 8), 1);
}

TEST(SearchTest, BoundLiesBelowEveryParallelismAlone) {
  const Job job = QuickstartJob();
  const Batching batching = MakeBatching(job);
  const SearchResult all = Search(job, batching, 4, nullptr);
  ASSERT_FALSE(all.best.empty());
  for (const Parallelism& p : Parallelisms(job, batching.packs_per_step(512))) {
    Job fixed = job;
    FixDegrees(fixed, p.tensor, p.pipeline, p.data);
    const SearchResult one = Search(fixed, batching, 1, nullptr);
    if (one.best.empty()) continue;
    EXPECT_GE(one.best[0].simulated_ns, all.proof.lower_bound_ns);
  }
  // The best few by simulation; none is below the bound.
  for (size_t i = 0; i < all.best.size(); ++i) {
    EXPECT_GE(all.best[i].simulated_ns, all.proof.lower_bound_ns);
    EXPECT_GE(all.best[i].simulated_ns, all.best[0].simulated_ns);
  }
  EXPECT_LE(all.proof.parallelisms_pruned + all.proof.parallelisms_unfit,
            all.proof.parallelisms - 4);
}

// What is pruned could not have been among the best.
TEST(SearchTest, KeepingMoreChangesNothingInFront) {
  const Job job = TextJob("llama3-70b", "h100-sxm-80gb", 64);
  const Batching batching = MakeBatching(job);
  const auto least = [&](int64_t keep) {
    const SearchResult r = Search(job, batching, keep, nullptr);
    int64_t best = r.best.front().score_ns;
    for (const Candidate& c : r.best) best = std::min(best, c.score_ns);
    return best;
  };
  EXPECT_EQ(least(1), least(1000));
  EXPECT_EQ(least(4), least(1000));
}

}  // namespace
}  // namespace evenkeel::planner
