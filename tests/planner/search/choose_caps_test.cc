#include "planner/search/choose_caps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "planner/search/ladder.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

// Returns the samples of the best plan's steps, over those that the job asks for.
double BatchRatio(const Job& job, const CapsSearch& search) {
  const Candidate& best = search.found.best.front();
  return static_cast<double>(best.micro_batches * best.parallelism.data) *
         search.batching.rule.samples_per_pack /
         static_cast<double>(job.training.global_batch_samples);
}

TEST(ChooseCapsTest, KeepsTheBatchThatIsAskedFor) {
  // Longer packs would be quicker for each sample, but a step would have others.
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  for (const int64_t asked : {1, 4, 64, 512}) {
    job.training.global_batch_samples = asked;
    const CapsSearch search = ChooseCaps(job, 0, {});
    ASSERT_FALSE(search.found.best.empty());
    EXPECT_NEAR(BatchRatio(job, search), 1, 0.05) << asked;
  }
}

double GpuDaysOf(const Job& job, const CapsSearch& search) {
  const Candidate& best = search.found.best.front();
  return GpuDays(job, best.step.total_ns(), static_cast<double>(search.batching.rule.packs), best);
}

// Tries every unit cap with which a step is about as large as the batch.
TEST(ChooseCapsTest, NoUnitCapIsMuchBetter) {
  struct Try {
    const char *encoder, *model, *gpu;
    int64_t gpus, batch;
  };
  const std::vector<Try> tries = {
      {"clip-vit-l-14-336", "llama3-8b", "h100-sxm-80gb", 16, 128},
      {"clip-vit-l-14-336", "llama3-8b", "a100-sxm-80gb", 64, 512},
      {"internvit-6b-448px-v1.5", "qwen2.5-7b", "l40s-48gb", 16, 96},
  };
  for (const Try& t : tries) {
    SCOPED_TRACE(testing::Message() << t.gpus << " " << t.gpu);
    Job job = VisionJob(t.encoder, t.model, t.gpu, t.gpus);
    job.training.global_batch_samples = t.batch;
    const CapsSearch chosen = ChooseCaps(job, 0, {});
    ASSERT_FALSE(chosen.found.best.empty());
    EXPECT_NEAR(BatchRatio(job, chosen), 1, 0.07);
    int64_t tried = 0;
    for (int64_t units = 5; units <= 40; units += units < 12 ? 1 : 2) {
      Job given = job;
      given.training.unit_cap = units;
      const CapsSearch other = ChooseCaps(given, 0, {});
      if (other.found.best.empty()) continue;
      if (std::abs(BatchRatio(given, other) - 1) > .05) continue;
      ++tried;
      EXPECT_LE(GpuDaysOf(job, chosen), 1.06 * GpuDaysOf(job, other)) << units << " units";
    }
    EXPECT_GE(tried, 5);
  }
}

// Where level packs do not fit, the longest that fit are found, not only the shortest.
// Of packs of 8,192 to 65,536 tokens, those of 32,768 are worse than both their neighbours.
TEST(ChooseCapsTest, NoLengthThatIsAskedForIsBetter) {
  Job job = TextJob("qwen3-30b-a3b", "h100-sxm-80gb", 64);
  job.constraints.schedule = Schedule::kOneFOneB;
  const Plan plan = CheckedPlan(job);
  for (const int64_t tokens : {8192, 16384, 32768, 65536}) {
    Job pinned = job;
    pinned.training.token_cap = tokens;
    EXPECT_LE(plan.prediction.gpu_days, CheckedPlan(pinned).prediction.gpu_days) << tokens;
  }
}

// 112 ranks run 560 packs of 4,096 tokens for a batch of 512. Doubled packs would give another
// batch; those of five times the length give the same.
TEST(ChooseCapsTest, LongerPacksKeepTheBatchOfAnyNumberOfRanks) {
  for (const int64_t gpus : {48, 56, 112}) {
    SCOPED_TRACE(gpus);
    Job job = TextJob("llama3-8b", "l40s-48gb", gpus);
    job.training.trainer = FindTrainer("pytorch-fsdp");
    job.training.zero_stage = ZeroStage::kWeights;
    job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
    const CapsSearch chosen = ChooseCaps(job, 0, {});
    ASSERT_FALSE(chosen.found.best.empty());
    for (const int64_t times : {1, 2, 3, 5}) {
      Job given = job;
      given.training.token_cap = 4096 * times;
      const CapsSearch other = ChooseCaps(given, 0, {});
      if (std::abs(BatchRatio(given, other) - BatchRatio(job, chosen)) > .01) continue;
      EXPECT_LE(GpuDaysOf(job, chosen), 1.02 * GpuDaysOf(job, other)) << times;
    }
  }
}

TEST(ChooseCapsTest, FindsLongerPacksThanTheShortestThatFit) {
  Job job = VisionJob("internvit-6b-448px-v1.5", "internlm2-20b", "a100-sxm-40gb", 16);
  job.training.global_batch_samples = 64;
  job.cluster.reserved_bytes = int64_t{8} << 30;
  const CapsSearch chosen = ChooseCaps(job, 0, {});
  ASSERT_FALSE(chosen.found.best.empty());
  EXPECT_EQ(chosen.batching.rule.caps_reason,
            "balanced packs of 38 units and 11392 tokens do not fit in memory");
  EXPECT_GT(chosen.batching.rule.unit_cap, 5);
}

}  // namespace
}  // namespace evenkeel::planner
