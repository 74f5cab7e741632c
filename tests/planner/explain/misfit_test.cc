#include "planner/explain/misfit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/base/random.h"
#include "planner/explain/remedies.h"
#include "planner/make_plan.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

// Plans the job, which must not fit, and checks the answer. Returns the kinds of remedies.
std::vector<RemedyKind> CheckMisfit(const Job& job) {
  const Plan plan = CheckedPlan(job);
  const Misfit& misfit = plan.misfit.value();
  EXPECT_GT(misfit.short_bytes, 0);
  EXPECT_EQ(misfit.short_bytes, misfit.memory.total() - misfit.capacity_bytes);
  EXPECT_GE(misfit.stage, 0);
  EXPECT_LT(misfit.stage, misfit.parallelism.pipeline);
  EXPECT_FALSE(misfit.layers.empty());
  EXPECT_TRUE(plan.stages.empty());
  std::vector<RemedyKind> kinds;
  for (const Remedy& remedy : misfit.remedies) {
    kinds.push_back(remedy.kind);
    EXPECT_FALSE(remedy.text.empty());
    EXPECT_TRUE(CheckedPlan(ApplyRemedy(job, remedy)).fits()) << remedy.text;
  }
  return kinds;
}

bool Has(const std::vector<RemedyKind>& kinds, RemedyKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

TEST(MisfitTest, ModelFarTooLarge) {
  const auto kinds = CheckMisfit(TextJob("llama3-70b", "a100-sxm-80gb", 8));
  EXPECT_TRUE(Has(kinds, RemedyKind::kMoreGpus));
  EXPECT_TRUE(Has(kinds, RemedyKind::kLargerGpu));
}

TEST(MisfitTest, ActivationsInHostMemory) {
  Job job = TextJob("llama3-8b", "gh200-96gb", 8);
  job.constraints.recompute = RecomputePolicy::kForbidden;
  FixDegrees(job, 1, 1, 8);
  job.dataset = {};
  job.dataset.bins = {{.llm_tokens = 32768, .count = 4096}};
  job.training.token_cap = 32768;
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kOffloadActivations));
  job.cluster.host_memory_bytes = int64_t{100} << 30;  // less than the activations
  EXPECT_FALSE(Has(CheckMisfit(job), RemedyKind::kOffloadActivations));
  job.cluster.host_memory_bytes = 0;
  job.training.trainer = FindTrainer("megatron-deepspeed");  // which does not offload them
  EXPECT_FALSE(Has(CheckMisfit(job), RemedyKind::kOffloadActivations));
}

// Megatron-Core moves activations only without a pipeline, but the misfit that lacks least has one.
TEST(MisfitTest, NoRemedyIsPlannedWithDegreesThatItExcludes) {
  Job job = TextJob("llama3-8b", "rtx-4090-24gb", 64);
  job.training.trainer = FindTrainer("megatron-core");
  job.training.micro_batch_samples = 8;
  job.constraints.recompute = RecomputePolicy::kForbidden;
  job.constraints.tensor_parallel = job.constraints.context_parallel = {1, 1};
  CheckMisfit(job);  // plans each remedy
}

// Inputs of products that are kept in 8 bits make room for packs a little too long for 16.
TEST(MisfitTest, LowerPrecision) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.constraints.recompute = RecomputePolicy::kForbidden;
  FixDegrees(job, 8, 1, 1);
  int64_t tokens = 32768;
  const auto fits = [&] {
    job.dataset = {};
    job.dataset.bins = {{.llm_tokens = tokens, .count = 4096}};
    job.training.token_cap = tokens;
    return CheckedPlan(job).fits();
  };
  while (fits()) tokens += 4096;
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kLowerPrecision));
  Job autocast = job;
  SetAutocast(&autocast.training);
  EXPECT_FALSE(Has(CheckMisfit(autocast), RemedyKind::kLowerPrecision));
  job.training.trainer = FindTrainer("megatron-deepspeed");  // which has no such recipes
  EXPECT_FALSE(Has(CheckMisfit(job), RemedyKind::kLowerPrecision));
}

TEST(MisfitTest, StatesInHostMemory) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 1);
  const auto kinds = CheckMisfit(job);
  EXPECT_TRUE(Has(kinds, RemedyKind::kOffloadOptimizer));
  job.cluster.host_memory_bytes = int64_t{100} << 30;  // less than the states
  EXPECT_FALSE(Has(CheckMisfit(job), RemedyKind::kOffloadOptimizer));
  job.cluster.host_memory_bytes = 0;
  job.training.zero_stage = ZeroStage::kNone;  // which Megatron-Core does not offload
  EXPECT_FALSE(Has(CheckMisfit(job), RemedyKind::kOffloadOptimizer));
}

TEST(MisfitTest, GradientsIn16Bits) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 2);
  job.training.group_selection = GroupSelection::kOne;
  bool found = false;
  // With less and less memory, there is some where 2 bytes of each gradient decide.
  for (int64_t gib = 70; gib >= 40 && !found; gib -= 2) {
    job.cluster.gpu.memory_bytes = gib << 30;
    const Plan plan = CheckedPlan(job);
    if (plan.fits()) continue;
    for (const Remedy& remedy : plan.misfit->remedies) {
      if (remedy.kind != RemedyKind::kGradients16Bit) continue;
      found = true;
      EXPECT_TRUE(CheckedPlan(ApplyRemedy(job, remedy)).fits());
    }
  }
  EXPECT_TRUE(found);
}

TEST(MisfitTest, RecomputeForbidden) {
  Job job = QuickstartJob();
  job.constraints.recompute = RecomputePolicy::kForbidden;
  job.training.unit_cap = 32;
  job.training.token_cap = 12'000;
  FixDegrees(job, 2, 4, 4);
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kAllowRecompute));
}

TEST(MisfitTest, OptimizerNotSharded) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 16);
  job.training.zero_stage = ZeroStage::kNone;
  FixDegrees(job, 1, 1, 16);
  const auto kinds = CheckMisfit(job);
  EXPECT_TRUE(Has(kinds, RemedyKind::kShardOptimizer));
  EXPECT_TRUE(Has(kinds, RemedyKind::kFreeDegrees));
}

TEST(MisfitTest, PacksTooLarge) {
  Job job = VisionJob("internvit-6b-448px-v1.5", "internlm2-20b", "a100-sxm-80gb", 32);
  job.training.unit_cap = 200;
  job.training.token_cap = 60'000;
  FixDegrees(job, 1, 8, 4);
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kSmallerCaps));
}

TEST(MisfitTest, FixedPartitionNamesItsFullestStage) {
  Job job = QuickstartJob();
  job.constraints.stage_layers = {80, 5, 4, 4};
  FixDegrees(job, 1, 4, 8);
  const auto kinds = CheckMisfit(job);
  EXPECT_TRUE(Has(kinds, RemedyKind::kFreeDegrees));
  EXPECT_TRUE(Has(kinds, RemedyKind::kStageLayers));
  EXPECT_EQ(CheckedPlan(job).misfit.value().stage, 0);
}

// Makes a job of a catalogue's vision-language model, with the contract's default data.
Job CatalogueJob(std::string_view model, std::string_view gpu, int64_t gpus, int64_t node) {
  Job job = TextJob("llama3-8b", gpu, gpus);
  job.model = FindVisionLanguageModel(model)->spec;
  job.dataset = DefaultVisionLanguageDataset(job.model.towers[0].encoder.llm_tokens_per_unit);
  job.cluster.gpus_per_node = job.cluster.gpus_per_full_node = node;
  return WholeSpace(job);
}

// The method's cut does not fit, but others do. The misfit once named a stage of another cut, 1
// byte short of memory that it had to spare.
TEST(MisfitTest, ThePartitionOfAMethodNamesTheStageThatIsShort) {
  Job job = CatalogueJob("llava-1.5-7b", "v100-sxm2-16gb", 40, 5);
  job.cluster.reserved_bytes = 1 << 30;
  job.training.global_batch_samples = 4096;
  job.training.token_cap = 16384;
  job.constraints.partition_method = PartitionMethod::kLayers;
  job.constraints.schedule = Schedule::kOneFOneB;
  job.constraints.virtual_stages = {1, 1};
  const auto kinds = CheckMisfit(job);
  EXPECT_TRUE(Has(kinds, RemedyKind::kStageLayers));
  EXPECT_TRUE(Has(kinds, RemedyKind::kFreeDegrees));
  EXPECT_FALSE(Has(kinds, RemedyKind::kFreeSchedule));
  // A trainer that takes no other stages is offered none.
  Trainer own = *job.training.trainer;
  own.partition_method = PartitionMethod::kLayers;
  job.training.trainer = &own;
  const auto fewer = CheckMisfit(job);
  EXPECT_FALSE(Has(fewer, RemedyKind::kStageLayers));
  EXPECT_FALSE(Has(fewer, RemedyKind::kFreeSchedule));
}

// The sums over this many packs do not fit in 64 bits. Formerly, no stage was found at all.
TEST(MisfitTest, AllPacksInFlightAreTooManyBytesToCount) {
  Job job = CatalogueJob("internvl-chat-v1.5", "rtx-4090-24gb", 7, 7);
  job.model.language_model.train = TrainMode::kFrozen;
  job.dataset = {.bins = {{1, 257, 1}}};
  job.training.global_batch_samples = 586'049;
  job.training.unit_cap = 1'000'000;
  job.training.token_cap = 1;
  job.constraints.schedule = Schedule::kGPipe;
  CheckMisfit(job);
}

TEST(MisfitTest, EnormousWorkspacesHaveNoNegativeParts) {
  Job job = TextJob("llama3-8b", "gh200-96gb", 6);
  job.cluster.gpus_per_node = job.cluster.gpus_per_full_node = 6;
  LanguageModel& m = job.model.language_model;
  m = {};
  m.layers = 1, m.hidden = 64, m.heads = 96, m.kv_heads = 1, m.head_dim = 512, m.ffn = 5152;
  m.vocab = 561'596;
  Encoder e;
  e.layers = 3, e.hidden = 1177, e.heads = 1024, e.head_dim = 64, e.ffn = 262'144;
  e.tokens_per_unit = 65'536, e.llm_tokens_per_unit = 38'110;
  job.model.towers.push_back({e, DefaultProjector(e, m.hidden)});
  job.dataset = DefaultVisionLanguageDataset(e.llm_tokens_per_unit);
  job.training.unit_cap = 1'000'000;
  const Plan plan = CheckedPlan(WholeSpace(job));
  EXPECT_FALSE(plan.fits());
}

TEST(MisfitTest, LongSamplesNeedContextParallel) {
  Job job = TextJob("llama3-8b", "h200-sxm-141gb", 8);
  job.dataset.bins = {{0, 262'144, 1000}};
  job.constraints.tensor_parallel = {1, 1};
  job.constraints.pipeline_parallel = {1, 1};
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kContextParallel));
}

TEST(MisfitTest, ManyExpertsNeedExpertParallel) {
  Job job = TextJob("mixtral-8x7b", "h100-sxm-80gb", 32);
  job.constraints.tensor_parallel = {1, 1};
  job.constraints.pipeline_parallel = {1, 2};
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kExpertParallel));
}

TEST(MisfitTest, ManyGpusWithoutPipelineNeedShardedWeights) {
  Job job = TextJob("llama3-70b", "a100-sxm-80gb", 64);
  job.constraints.tensor_parallel = {1, 1};
  job.constraints.pipeline_parallel = {1, 1};
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kShardWeights));
}

TEST(MisfitTest, EveryScheduleSaysWhatIsMissing) {
  for (const Schedule schedule :
       {Schedule::kInterleaved, Schedule::kGPipe, Schedule::kZeroBubble}) {
    Job job = WholeSpace(TextJob("llama3-70b", "a100-sxm-80gb", 16));
    job.constraints.schedule = schedule;
    CheckMisfit(job);
  }
}

TEST(MisfitTest, NothingHelps) {
  Job job = TextJob("llama3.1-405b", "b300-sxm-288gb", 1);
  job.cluster.reserved_bytes = job.cluster.gpu.memory_bytes;
  EXPECT_FALSE(CheckedPlan(job).fits());
}

// For random jobs that do not fit, the misfit's figures hold and every remedy helps.
TEST(MisfitTest, RandomMisfitsAreSoundAndTheirRemediesHelp) {
  Random random(14);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random.Below(n)); };
  constexpr const char* kModels[] = {"llama3-8b", "qwen2.5-14b", "mixtral-8x7b", "llama3-70b"};
  constexpr const char* kEarlyGpus[] = {"v100-sxm2-16gb", "rtx-4090-24gb", "a100-sxm-40gb",
                                        "h100-sxm-80gb"};
  int misfits = 0, remedies = 0;
  for (int run = 0; run < 60 && misfits < 10; ++run) {
    Job job = WholeSpace(TextJob(kModels[below(4)], kEarlyGpus[below(4)], 1 + below(12)));
    if (below(3) == 0)
      job = WholeSpace(QuickstartJob()), job.cluster = ClusterOf(kEarlyGpus[below(4)], 8);
    job.cluster.gpus_per_full_node = job.cluster.gpus_per_node = job.cluster.gpu_count;
    job.training.global_batch_samples = 1 + below(300);
    if (below(2) == 0) job.training.token_cap = 2048 << below(4);
    if (below(3) == 0) job.training.zero_stage = ZeroStage::kNone;
    if (below(3) == 0) job.constraints.recompute = RecomputePolicy::kForbidden;
    if (below(4) == 0) job.constraints.context_parallel = {1, 1};
    switch (below(5)) {
      case 0:
        job.constraints.schedule = Schedule::kGPipe;
        job.constraints.virtual_stages = {1, 1};
        break;
      case 1:
        job.constraints.schedule = Schedule::kZeroBubble;
        job.constraints.virtual_stages = {1, 1};
        break;
      case 2:
        job.constraints.partition_method = static_cast<PartitionMethod>(1 + below(6));
        job.constraints.schedule = Schedule::kOneFOneB;
        job.constraints.virtual_stages = {1, 1};
        break;
      default:
        break;
    }
    const PlanResult result = MakePlan(job, {});
    ASSERT_EQ(result.end, PlanEnd::kComplete)
        << run << ": " << (result.faults.empty() ? "" : result.faults[0]);
    if (result.plan.fits()) continue;
    ++misfits;
    for (const Remedy& remedy : result.plan.misfit->remedies) {
      ++remedies;
      const Job changed = ApplyRemedy(job, remedy);
      // A free share takes many searches.
      const Plan plan =
          changed.training.offload.choose ? MakeShortPlan(changed, {}).plan : CheckedPlan(changed);
      EXPECT_TRUE(plan.fits()) << run << ": " << remedy.text;
    }
  }
  EXPECT_GE(misfits, 10);
  EXPECT_GE(remedies, 10);
}

int64_t GpusOfRemedy(const Job& job) {
  const Misfit misfit = CheckedPlan(job).misfit.value();
  for (const Remedy& remedy : misfit.remedies) {
    if (remedy.kind == RemedyKind::kMoreGpus) return remedy.gpu_count;
  }
  return 0;
}

TEST(MisfitTest, MoreGpusFillUnitsAndAreJoined) {
  Job job = TextJob("llama3-70b", "a100-sxm-80gb", 8);
  const int64_t fewest = GpusOfRemedy(job);
  ASSERT_GE(fewest, 24);
  ASSERT_LE(fewest, 56);
  job.cluster.domain = {"rack", 64, 56, /*filled=*/true};
  EXPECT_EQ(GpusOfRemedy(job), fewest);
  job.cluster.domain.usable = fewest - 8;
  EXPECT_EQ(GpusOfRemedy(job), 2 * (fewest - 8));
  job.cluster.domain = {};
  job.cluster.joined_gpus = fewest;
  EXPECT_EQ(GpusOfRemedy(job), fewest);
  job.cluster.joined_gpus = fewest - 1;
  EXPECT_EQ(GpusOfRemedy(job), 0);
}

// Megatron's distributed optimizer is offloaded with ZeRO-1 only.
TEST(MisfitTest, NoRemedyShardsWeightsOfAnOffloadedOptimizer) {
  Job job = TextJob("llama3-70b", "a100-sxm-80gb", 64);
  job.constraints.tensor_parallel = job.constraints.pipeline_parallel = {1, 1};
  job.training.offload = {.asked = true, .given = true};
  EXPECT_FALSE(Has(CheckMisfit(job), RemedyKind::kShardWeights));
  job.training.offload.given = false;  // only of activations
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kShardWeights));
  job.training.offload.given = true;
  job.training.trainer = FindTrainer("generic");  // with any stage
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kShardWeights));
}

TEST(MisfitTest, FewestGpusAreNotTooMany) {
  const Job job = TextJob("llama3-70b", "a100-sxm-80gb", 8);
  const Misfit misfit = CheckedPlan(job).misfit.value();
  for (const Remedy& remedy : misfit.remedies) {
    if (remedy.kind != RemedyKind::kMoreGpus) continue;
    EXPECT_EQ(remedy.gpu_count % 8, 0);
    Job fewer = job;
    fewer.cluster.gpu_count = remedy.gpu_count - 8;
    EXPECT_FALSE(CheckedPlan(fewer).fits());
  }
}

}  // namespace
}  // namespace evenkeel::planner
