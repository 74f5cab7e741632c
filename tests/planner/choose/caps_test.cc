#include "planner/choose/caps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

// Returns the samples of the best plan's steps, over those that the job asks for.
double BatchRatio(const Job& job, const CapsSearchResult& search) {
  const Candidate& best = search.plans.best.front();
  return static_cast<double>(best.micro_batches * best.parallelism.data) *
         search.batching.rule.samples_per_pack /
         static_cast<double>(job.training.global_batch_samples);
}

TEST(ChooseCapsTest, KeepsTheBatchThatIsAskedFor) {
  // Longer packs would be quicker for each sample, but a step would have others.
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  for (const int64_t asked : {1, 4, 64, 512}) {
    job.training.global_batch_samples = asked;
    const CapsSearchResult search = ChooseCaps(job, 0, {});
    ASSERT_FALSE(search.plans.best.empty());
    EXPECT_NEAR(BatchRatio(job, search), 1, 0.05) << asked;
  }
}

double GpuDaysOf(const Job& job, const CapsSearchResult& search) {
  const Candidate& best = search.plans.best.front();
  return GpuDays(job, best.step.total_ns(), search.batching.rule.packs, best);
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
      {"internvit-300m-448px", "qwen2.5-7b", "h200-sxm-141gb", 96, 64},
      {"clip-vit-l-14-336", "llama2-7b", "a100-sxm-80gb", 8, 32},
  };
  for (const Try& t : tries) {
    SCOPED_TRACE(testing::Message() << t.gpus << " " << t.gpu);
    Job job = VisionJob(t.encoder, t.model, t.gpu, t.gpus);
    job.training.global_batch_samples = t.batch;
    const CapsSearchResult chosen = ChooseCaps(job, 0, {});
    ASSERT_FALSE(chosen.plans.best.empty());
    EXPECT_NEAR(BatchRatio(job, chosen), 1, 0.07);
    int64_t tried = 0;
    for (int64_t units = 5; units <= 40; units += units < 12 ? 1 : 2) {
      Job given = job;
      given.training.unit_cap = units;
      const CapsSearchResult other = ChooseCaps(given, 0, {});
      if (other.plans.best.empty()) continue;
      if (std::abs(BatchRatio(given, other) - 1) > .05) continue;
      ++tried;
      EXPECT_LE(GpuDaysOf(job, chosen), 1.06 * GpuDaysOf(job, other)) << units << " units";
    }
    EXPECT_GE(tried, 5);
  }
}

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

// Jobs whose best packs are not the rule's, doubled or not: numbers of ranks that are no powers of
// two, weights that are gathered for each pack, experts, and batches that few degrees keep.
TEST(ChooseCapsTest, NoTokenCapIsMuchBetter) {
  struct Try {
    const char *model, *gpu, *trainer;
    int64_t gpus, batch;
  };
  const std::vector<Try> tries = {
      {"llama3-8b", "l40s-48gb", "pytorch-fsdp", 48, 512},
      {"llama3-8b", "l40s-48gb", "pytorch-fsdp", 56, 512},
      {"llama3-8b", "l40s-48gb", "pytorch-fsdp", 112, 512},
      {"llama3-8b", "l40s-48gb", "pytorch-fsdp", 48, 64},
      {"llama3-70b", "h100-sxm-80gb", "pytorch-fsdp", 96, 64},
      {"qwen3-235b-a22b", "b200-sxm-180gb", "nemo-automodel", 48, 256},
      {"mixtral-8x7b", "h100-sxm-80gb", "pytorch-fsdp", 64, 512},
      {"qwen3-235b-a22b", "h100-sxm-80gb", "megatron-core", 64, 128},
      {"llama3-8b", "h100-sxm-80gb", "megatron-core", 5, 8},
  };
  for (const Try& t : tries) {
    SCOPED_TRACE(testing::Message() << t.model << " on " << t.gpus << ", batch of " << t.batch);
    Job job = TextJob(t.model, t.gpu, t.gpus);
    job.training.global_batch_samples = t.batch;
    job.training.trainer = FindTrainer(t.trainer);
    if (job.training.trainer != &DefaultTrainer()) job.training.zero_stage = ZeroStage::kWeights;
    job.training.execution = DefaultExecution(*job.training.trainer, job.training.zero_stage);
    const CapsSearchResult chosen = ChooseCaps(job, 0, {});
    ASSERT_FALSE(chosen.plans.best.empty());
    const double error = std::max(.05, std::abs(BatchRatio(job, chosen) - 1)) + .001;
    int64_t tried = 0;
    for (const int64_t halves : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      Job given = job;
      given.training.token_cap = 2048 * halves;
      const CapsSearchResult other = ChooseCaps(given, 0, {});
      if (other.plans.best.empty() || std::abs(BatchRatio(given, other) - 1) > error) continue;
      ++tried;
      EXPECT_LE(GpuDaysOf(job, chosen), 1.03 * GpuDaysOf(job, other)) << given.training.token_cap;
    }
    EXPECT_GE(tried, 2);
  }
}

// Where level packs do not fit, the longest that fit are found, not only the shortest.
TEST(ChooseCapsTest, FindsLongerPacksThanTheShortestThatFit) {
  Job job = VisionJob("internvit-6b-448px-v1.5", "internlm2-20b", "a100-sxm-40gb", 16);
  job.training.global_batch_samples = 64;
  job.cluster.reserved_bytes = int64_t{8} << 30;
  const CapsSearchResult chosen = ChooseCaps(job, 0, {});
  ASSERT_FALSE(chosen.plans.best.empty());
  EXPECT_EQ(chosen.batching.rule.caps_reason,
            "balanced packs of 38 units and 11392 tokens do not fit in memory");
  EXPECT_GT(chosen.batching.rule.unit_cap, 5);
}

}  // namespace
}  // namespace evenkeel::planner
