#include "planner/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "planner/base/integers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

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
  // These are the best few by simulation. None is below the bound.
  for (size_t i = 0; i < all.best.size(); ++i) {
    EXPECT_GE(all.best[i].simulated_ns, all.proof.lower_bound_ns);
    EXPECT_GE(all.best[i].simulated_ns, all.best[0].simulated_ns);
  }
  EXPECT_EQ(all.best.size(), 5u);
  EXPECT_LT(all.proof.parallelisms_pruned + all.proof.parallelisms_unfit, all.proof.parallelisms);
}

TEST(SearchTest, AlternativesChangeNothingInFront) {
  Job job = TextJob("qwen2-1.5b", "a100-sxm-40gb", 8);
  job.dataset.bins = {{0, 3, 68}, {0, 303, 11}};
  const Batching batching = MakeBatching(job);
  const SearchResult none = Search(job, batching, 0, nullptr);
  ASSERT_EQ(none.best.size(), 1u);
  for (const int64_t alternatives : {1, 3, 4, 10}) {
    const SearchResult some = Search(job, batching, alternatives, nullptr);
    EXPECT_LE(some.best.size(), static_cast<size_t>(alternatives) + 1);
    EXPECT_GT(some.best.size(), 1u);
    EXPECT_EQ(some.best[0].parallelism, none.best[0].parallelism);
    EXPECT_EQ(some.best[0].boundaries, none.best[0].boundaries);
    EXPECT_EQ(some.best[0].recomputed, none.best[0].recomputed);
    EXPECT_EQ(some.proof.lower_bound_ns, none.proof.lower_bound_ns);
    EXPECT_EQ(some.proof.partitions_examined, none.proof.partitions_examined);
    EXPECT_EQ(some.promising, none.promising);
  }
}

// Fixes all degrees of a parallelism.
Job Only(Job job, const Parallelism& p) {
  FixDegrees(job, p.tensor, p.pipeline, p.data);
  Constraints& c = job.constraints;
  c.context_parallel = {p.context, p.context};
  c.expert_parallel = {p.expert, p.expert};
  c.virtual_stages = {p.virtual_stages, p.virtual_stages};
  return job;
}

double EpochOf(const Batching& batching, const Candidate& c) {
  const int64_t packs = c.micro_batches * c.parallelism.data;
  return static_cast<double>(CeilDivide(batching.rule.packs, packs)) *
         static_cast<double>(c.step.total_ns());
}

// Plans each parallelism of the space separately, where nothing can be pruned. None has a shorter
// epoch than the search's result, and none is below its bound.
void ExpectAsIfAllWerePlanned(const Job& job) {
  const Batching batching = MakeBatching(job);
  const SearchResult all = Search(job, batching, 0, nullptr);
  ASSERT_EQ(all.proof.parallelisms_unsearched, 0) << "too large a case to compare";
  int64_t planned = 0;
  for (const Parallelism& p :
       Parallelisms(job, batching.packs_per_step(job.training.global_batch_samples))) {
    const SearchResult one = Search(Only(job, p), batching, 0, nullptr);
    if (one.best.empty()) continue;
    ++planned;
    const Candidate& c = one.best[0];
    EXPECT_GE(c.simulated_ns, all.proof.lower_bound_ns);
    EXPECT_GE(c.score_ns, one.proof.lower_bound_ns);
    EXPECT_GE(one.proof.lower_bound_ns, all.proof.lower_bound_ns);
    ASSERT_FALSE(all.best.empty());
    EXPECT_LE(EpochOf(batching, all.best[0]), EpochOf(batching, c)) << planned;
  }
  EXPECT_EQ(all.best.empty(), planned == 0);
}

TEST(SearchTest, WholeSpaceAsIfAllWerePlanned) {
  Job small = WholeSpace(TextJob("llama3-8b", "h100-sxm-80gb", 8));
  small.training.global_batch_samples = 24;
  ExpectAsIfAllWerePlanned(small);
  small.cluster = ClusterOf("a100-sxm-40gb", 16);
  ExpectAsIfAllWerePlanned(small);
  Job experts = WholeSpace(TextJob("mixtral-8x7b", "h200-sxm-141gb", 16));
  experts.training.global_batch_samples = 32;
  ExpectAsIfAllWerePlanned(experts);
  Job vision = WholeSpace(VisionJob("internvit-300m-448px", "qwen2-1.5b", "a100-sxm-80gb", 6));
  vision.training.global_batch_samples = 60;
  ExpectAsIfAllWerePlanned(vision);
}

TEST(SearchTest, FindsOnlyWhatBeatsTheMark) {
  Job pipelines = QuickstartJob();
  FixDegrees(pipelines, 1, 8, 4);
  for (const Job& job : {TextJob("llama3-8b", "h100-sxm-80gb", 16), QuickstartJob(), pipelines}) {
    const Batching batching = MakeBatching(job);
    const int64_t best = Search(job, batching, 0, nullptr).best[0].simulated_ns;
    for (const int64_t mark : {best / 2, best})
      EXPECT_TRUE(Search(job, batching, 4, nullptr, {.beat_ns = mark}).best.empty());
    for (const int64_t mark : {best + 1, best + best / 50}) {
      const SearchResult found = Search(job, batching, 4, nullptr, {.beat_ns = mark});
      ASSERT_FALSE(found.best.empty());
      EXPECT_LE(found.best[0].simulated_ns, best);
    }
  }
}

TEST(SearchTest, PublishedMethodsAreNeverBetterThanOurs) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);
  const Batching batching = MakeBatching(job);
  const SearchResult ours = Search(job, batching, 0, nullptr);
  std::vector<std::vector<int64_t>> cuts;
  for (const PartitionMethod method : {PartitionMethod::kBmp, PartitionMethod::kParameters,
                                       PartitionMethod::kLayers, PartitionMethod::kProfile}) {
    job.constraints.partition_method = method;
    const SearchResult result = Search(job, batching, 0, nullptr);
    ASSERT_EQ(result.best.size(), 1u);
    EXPECT_GE(result.best[0].score_ns, ours.best[0].score_ns);
    EXPECT_LE(result.proof.lower_bound_ns, result.best[0].score_ns);
    cuts.push_back(result.best[0].boundaries);
  }
  EXPECT_NE(cuts[0], cuts[1]);
  EXPECT_NE(cuts[1], cuts[2]);
}

// The effects of a schedule show in the plan.
TEST(SearchTest, EverySchedule) {
  Job job = WholeSpace(TextJob("llama3-8b", "h100-sxm-80gb", 32));
  job.training.global_batch_samples = 64;
  job.constraints.pipeline_parallel = {4, 4};
  job.constraints.context_parallel = {1, 1};
  const Batching batching = MakeBatching(job);
  const auto step = [&](std::optional<Schedule> schedule) {
    job.constraints.schedule = schedule;
    const SearchResult found = Search(job, batching, 0, nullptr);
    EXPECT_FALSE(found.best.empty());
    EXPECT_EQ(found.best[0].schedule, schedule.value_or(found.best[0].schedule));
    EXPECT_GE(found.best[0].simulated_ns, found.proof.lower_bound_ns);
    return found.best[0].simulated_ns;
  };
  const int64_t one_chunk = step(Schedule::kOneFOneB), chunks = step(Schedule::kInterleaved),
                zero_bubble = step(Schedule::kZeroBubble), gpipe = step(Schedule::kGPipe);
  EXPECT_LT(chunks, one_chunk);
  EXPECT_LT(zero_bubble, one_chunk);
  // Real packs run a little quicker if fewer passes wait for each other.
  EXPECT_GE(gpipe, one_chunk - one_chunk / 100);
  EXPECT_EQ(step(std::nullopt), std::min(one_chunk, chunks));
}

}  // namespace
}  // namespace evenkeel::planner
