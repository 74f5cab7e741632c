// Inputs of modules in host memory: the choice against pinned sets, and what modules have.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/base/random.h"
#include "planner/base/units.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/layer_profile.h"
#include "planner/evaluate_plan.h"
#include "planner/explain/misfit.h"
#include "planner/explain/remedies.h"
#include "planner/make_plan.h"
#include "planner/space/offload.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

Job Asking(Job job, OffloadModules modules) {
  AskModuleOffload(modules, &job);
  return job;
}

// Mixture of experts that fits on few GPUs.
Job SmallMixture(const char* gpu, int64_t gpus, int64_t tokens) {
  Job job = LongTextJob("mixtral-8x7b", gpu, gpus, tokens);
  LanguageModel& m = job.model.language_model;
  m.layers = 4, m.runs = {};
  job.training.execution.grouped_experts = true;
  job.constraints.expert_parallel = {1, 0};
  return job;
}

// All valid sets of the modules that the job's model has.
std::vector<OffloadModules> SetsOf(const Job& job) {
  std::vector<OffloadModules> sets;
  const OffloadModules has = OffloadModulesOf(job);
  for (OffloadModules modules = has; modules != 0; modules = (modules - 1) & has)
    if (WithoutUnmetNeeds(modules) == modules) sets.push_back(modules);
  return sets;
}

// Within the tolerance of the choice, and the rounding of a batch.
constexpr double kModulesTolerance = 1.0045;

// Whatever fits with a pinned set is found by the choice, which is no slower; and no plan takes
// more of a host than there is.
TEST(ModuleOffloadTest, RandomJobsFindWhatPinnedSetsDo) {
  Random random(7);
  const char* const gpus[] = {"h100-sxm-80gb", "gh200-96gb", "a100-sxm-40gb", "a100-sxm-80gb"};
  int fit = 0, chosen = 0, recomputed = 0;
  for (int i = 0; i < 50; ++i) {
    const char* gpu = gpus[random.Below(4)];
    const bool moe = random.Below(2) == 0;
    const int64_t count = moe ? 8 : int64_t{1} << (1 + random.Below(2));
    const int64_t tokens = int64_t{8192} << random.Below(3);
    Job job = moe ? SmallMixture(gpu, count, tokens) : LongTextJob("llama3-8b", gpu, count, tokens);
    job.model.language_model.layers =
        moe ? int64_t{8} << random.Below(2) : 4 + static_cast<int64_t>(random.Below(9));
    job.constraints.pipeline_parallel = {2, moe ? 4 : 2};
    job.constraints.tensor_parallel = {1, 1};
    if (random.Below(2) == 0) {
      job.cluster.host_link_bytes_per_second = 300e9;
      job.cluster.host_memory_bytes_per_second = 8 * 300e9;
    }
    if (random.Below(3) == 0)
      job.cluster.host_memory_bytes = static_cast<int64_t>(100 + random.Below(400)) * kGiB;
    const Plan free = CheckedPlan(Asking(job, 0));
    const int64_t host = HostOf(job.cluster).memory_bytes;
    if (free.fits() && free.offload->modules != 0) {
      ++chosen;
      EXPECT_LE(free.placement.host_memory_bytes, host);
      EXPECT_GT(free.offload->activation_bytes, 0);
    }
    const std::vector<OffloadModules> sets = SetsOf(job);
    for (size_t at = 0; at < sets.size(); at += moe ? 6 : 1) {
      const Plan pinned = CheckedPlan(Asking(job, sets[at]));
      if (!pinned.fits()) continue;
      ++fit;
      EXPECT_LE(pinned.placement.host_memory_bytes, host);
      for (const LayerGroup& group : pinned.stages.front().layers)
        recomputed += group.recomputed_count() > 0 ? 1 : 0;
      ASSERT_TRUE(free.fits()) << "job " << i << " with modules " << sets[at];
      EXPECT_LE(static_cast<double>(free.offload->step_ns),
                kModulesTolerance * static_cast<double>(pinned.offload->step_ns))
          << "job " << i << ": " << free.offload->modules << " against " << sets[at];
    }
  }
  EXPECT_GT(fit, 60);
  EXPECT_GT(chosen, 3);
  EXPECT_GT(recomputed, 5);
}

// Bytes of one layer and pack on the host, where each module is offloaded on its own.
int64_t HostBytes(const Job& job, OffloadModules modules, LayerKind kind) {
  const double tokens = static_cast<double>(job.training.token_cap);
  const PackShape pack{.tokens = tokens, .squared = tokens * tokens};
  const LayerProfile profile =
      BuildLayerProfile(WithModules(Asking(job, modules), modules, modules, {}),
                        Parallelism{.data = job.cluster.gpu_count}, pack, pack);
  for (const LayerCost& layer : profile.classes)
    if (layer.kind == kind) return layer.host_kept_bytes;
  return -1;
}

// A share of the optimizer that is chosen with modules is no worse than any that is given.
TEST(ModuleOffloadTest, AShareIsChosenBesideModules) {
  std::vector<Job> jobs = {TrainedBy(TextJob("llama3-8b", "gh200-96gb", 8), "megatron-core")};
  jobs.push_back(TrainedBy(TextJob("llama3-70b", "h100-sxm-80gb", 8), "megatron-core"));
  for (Job& job : jobs) job.constraints.recompute = RecomputePolicy::kOneSetting;
  for (const int64_t tokens : {8192, 16384, 32768}) {
    jobs.push_back(LongTextJob("llama3-8b", "gh200-96gb", 2, tokens));
    jobs.back().constraints.pipeline_parallel = jobs.back().constraints.tensor_parallel = {1, 2};
  }
  int beside = 0;
  for (const Job& job : jobs) {
    Job both = Asking(job, 0);
    both.training.offload.choose = true;
    const Plan free = CheckedPlan(both);
    ASSERT_TRUE(free.fits());
    beside += free.offload->ratio > 0 && free.offload->modules != 0 ? 1 : 0;
    for (const double ratio : {0.0, 0.5, 1.0}) {
      Job given = Asking(job, 0);
      given.training.offload.given = true;
      given.training.offload.ratio = given.training.offload.charged_ratio = ratio;
      const Plan plan = CheckedPlan(given);
      if (!plan.fits()) continue;
      EXPECT_LE(static_cast<double>(free.offload->step_ns),
                kModulesTolerance * static_cast<double>(plan.offload->step_ns))
          << job.model.name << " " << job.training.token_cap << " " << ratio;
    }
  }
  EXPECT_GT(beside, 0);
}

TEST(ModuleOffloadTest, ModulesHaveTheirInputs) {
  const Job dense = LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192);
  const LanguageModel& m = dense.model.language_model;
  const int64_t rows = 2 * 8192;  // bytes of a 16-bit value in each
  const int64_t q = m.heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  const auto of = [&](OffloadModules modules) {
    return HostBytes(dense, modules, LayerKind::kDense);
  };
  EXPECT_EQ(of(kOffloadQkv), rows * 2 * m.hidden);  // before and after the fused norm
  EXPECT_EQ(of(kOffloadCoreAttention), rows * (q + 2 * kv));
  EXPECT_EQ(of(kOffloadCoreAttention | kOffloadAttentionProjection), rows * (2 * q + 2 * kv));
  EXPECT_EQ(of(kOffloadMoeActivation | kOffloadMlpNorm | kOffloadAttentionNorm), 0);

  Job moe = SmallMixture("h100-sxm-80gb", 8, 8192);
  moe.training.execution.expert_capacity = 1;
  const LanguageModel& experts = moe.model.language_model;
  const int64_t routed = rows * experts.moe->top_k;
  const auto of_moe = [&](OffloadModules modules) {
    return HostBytes(moe, modules, LayerKind::kMoe);
  };
  EXPECT_EQ(of_moe(kOffloadMlpNorm), rows * experts.hidden);
  EXPECT_EQ(of_moe(kOffloadExpertFc1), routed * experts.hidden);
  EXPECT_EQ(of_moe(kOffloadMoeActivation), routed * 2 * experts.moe->expert_ffn);
}

// Keys and values of 8 heads have 2^20 values at 1024 tokens of 8 x 128, queries at 256.
TEST(ModuleOffloadTest, SmallTensorsStay) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 1024);
  const LanguageModel& m = job.model.language_model;
  const int64_t q = m.heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  EXPECT_EQ(HostBytes(job, kOffloadCoreAttention, LayerKind::kDense), 2 * 1024 * (q + 2 * kv));
  job.training.token_cap = 1023;
  EXPECT_EQ(HostBytes(job, kOffloadCoreAttention, LayerKind::kDense), 2 * 1023 * q);
  job.training.token_cap = 255;
  EXPECT_EQ(HostBytes(job, kOffloadCoreAttention, LayerKind::kDense), 0);
}

TEST(ModuleOffloadTest, WaitsForCopiesThatAPassDoesNotHide) {
  Job job = Asking(LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192), kOffloadQkv);
  FixDegrees(job, 2, 2, 2);
  job.cluster.host_memory_bytes_per_second = 8 * 400e9;
  int64_t before = -1;
  for (const double rate : {400e9, 10e9, 3e9, 1e9}) {
    job.cluster.host_link_bytes_per_second = rate;
    const Plan plan = CheckedPlan(job);
    ASSERT_TRUE(plan.fits());
    EXPECT_EQ(plan.offload->modules, OffloadModules{kOffloadQkv});
    EXPECT_GE(plan.offload->activation_added_ns, before) << rate;
    before = plan.offload->activation_added_ns;
    if (rate == 400e9) {
      EXPECT_EQ(before, 0);
    }
  }
  EXPECT_GT(before, 0);
}

// Megatron-Core's least tensor is a number of values, in whatever format: of 300 rows, inputs in
// FP8 move as those of 3000 do.
TEST(ModuleOffloadTest, SmallTensorsAreCountedInValues) {
  Job job = Asking(LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192), kOffloadQkv);
  job.training.precision = Precision::kFp8Current;
  job.training.execution.keeps_quantised_inputs = true;
  job.training.activations.modules = job.training.activations.charged_modules = kOffloadQkv;
  const auto per_row = [&](double rows) {
    const PackShape pack{.tokens = rows, .squared = rows * rows};
    const LayerProfile profile = BuildLayerProfile(job, {1, 1, 8}, pack, pack);
    double copied = 0;
    for (const LayerCost& layer : profile.classes) copied += layer.copied.at(pack);
    return copied / rows;
  };
  EXPECT_GT(per_row(300), 0);
  EXPECT_NEAR(per_row(300), per_row(3000), 1);
  EXPECT_EQ(per_row(200), 0);
}

// Measured activations move as they are measured: the checker, which multiplies what it finds on
// the host, agrees.
TEST(ModuleOffloadTest, CopiesWhatWasMeasured) {
  int64_t predicted = 0;
  for (const double ratio : {1.0, 1.3, 0.8}) {
    Job job = Asking(LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192), kOffloadQkv);
    FixDegrees(job, 2, 2, 2);
    job.cluster.host_memory_bytes_per_second = 8 * 400e9;
    job.cluster.host_link_bytes_per_second = 1e9;
    job.calibration.version = job.calibration.layer_version = "measured";
    job.calibration.revisions = std::vector<int64_t>{1};
    job.calibration.layers = {{LayerKind::kDense, 2, {}, {}, {ratio, 1, 0}}};
    const Plan plan = CheckedPlan(job);
    ASSERT_TRUE(plan.fits());
    if (ratio == 1) predicted = plan.offload->activation_added_ns;
    EXPECT_EQ(plan.offload->activation_added_ns > predicted, ratio > 1) << ratio;
  }
}

// Experts in a pipeline, where whole layers cannot be offloaded, over a fast link.
Job ExpertPipeline() {
  Job job = SmallMixture("gh200-96gb", 8, 16384);
  job.model.language_model.layers = 16;
  job.cluster.gpus_per_node = 1;
  job.constraints.pipeline_parallel = {4, 4};
  return job;
}

TEST(ModuleOffloadTest, BeatsRecomputeInAPipeline) {
  const Job job = ExpertPipeline();
  const Plan plan = CheckedPlan(Asking(job, 0)), without = CheckedPlan(job);
  ASSERT_TRUE(plan.fits() && without.fits());
  EXPECT_FALSE(without.offload);
  EXPECT_NE(plan.offload->modules & kOffloadMoeActivation, 0u);
  EXPECT_GT(plan.offload->activation_bytes, kGiB);
  EXPECT_EQ(plan.offload->activation_host_bytes, plan.offload->activation_bytes);
  EXPECT_GT(static_cast<double>(plan.offload->step_without_ns),
            1.1 * static_cast<double>(plan.offload->step_ns));
}

TEST(ModuleOffloadTest, GainsNothingOverASlowLink) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192);
  job.cluster.host_link_bytes_per_second = 1e9;
  const Plan plan = CheckedPlan(Asking(job, 0));
  ASSERT_TRUE(plan.fits());
  EXPECT_TRUE(plan.offload->of_modules);
  EXPECT_EQ(plan.offload->modules, 0u);
  EXPECT_EQ(plan.offload->activation_host_bytes, 0);
}

// What is recomputed with modules drops nothing of theirs.
TEST(ModuleOffloadTest, RecomputeBesideModulesKeepsTheirTensors) {
  Job job = SmallMixture("h100-sxm-80gb", 8, 4096);
  const std::vector<RecomputeSetting> settings = SettingsBesideModules(job);
  ASSERT_EQ(settings.size(), 3u);
  EXPECT_EQ(settings[1].moe_parts, RecomputeParts{kActivation});
  EXPECT_EQ(settings[2].moe_parts, RecomputeParts{kActivation | kNorms});
  EXPECT_EQ(ModulesBeside(kAllOffloadModules, settings[1]), kAllOffloadModules);
  EXPECT_EQ(ModulesBeside(kAllOffloadModules, settings[2]), kAllOffloadModules & ~kOffloadQkv);
  EXPECT_EQ(ModulesBeside(kAllOffloadModules, {.moe_parts = kMlp}),
            OffloadModules{kOffloadAttentionNorm | kOffloadQkv | kOffloadCoreAttention |
                           kOffloadAttentionProjection});
  EXPECT_EQ(ModulesBeside(kAllOffloadModules, {.dense_parts = kWholeLayer}), 0u);
  job.constraints.recompute = RecomputePolicy::kForbidden;
  EXPECT_EQ(SettingsBesideModules(job).size(), 1u);
}

// The plan's own modules and recompute, evaluated, give its step and memory.
TEST(ModuleOffloadTest, IsEvaluatedAsPlanned) {
  for (const int64_t stages : {1, 2}) {
    Job job = SmallMixture("a100-sxm-40gb", 8, 8192);
    job.constraints.pipeline_parallel = {stages, stages};
    const Job asking = Asking(job, kOffloadMoeActivation | kOffloadExpertFc1);
    const Plan plan = CheckedPlan(asking);
    if (!plan.fits()) continue;
    RecomputeSetting beside;
    for (const LayerGroup& group : plan.stages.front().layers)
      if (!group.recomputed.empty()) beside.moe_parts = group.recomputed.front().parts;
    const Evaluation evaluated = EvaluatePlan(
        WithModules(asking, plan.offload->modules, plan.offload->modules, beside), SpecOf(plan));
    ASSERT_TRUE(evaluated.faults.empty()) << evaluated.faults.front().message;
    EXPECT_EQ(evaluated.plan.prediction.step.total_ns, plan.prediction.step.total_ns);
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      EXPECT_EQ(evaluated.plan.stages[s].memory.total(), plan.stages[s].memory.total());
      EXPECT_EQ(evaluated.plan.stages[s].offloaded_activation_bytes,
                plan.stages[s].offloaded_activation_bytes);
    }
  }
}

TEST(ModuleOffloadTest, IsARemedyWhereWholeLayersAreNone) {
  Job job = ExpertPipeline();
  job.constraints.recompute = RecomputePolicy::kForbidden;
  const Plan plan = CheckedPlan(job);
  ASSERT_FALSE(plan.fits());
  bool found = false;
  for (const Remedy& remedy : plan.misfit->remedies) {
    EXPECT_NE(remedy.kind, RemedyKind::kOffloadActivations);
    if (remedy.kind != RemedyKind::kOffloadModules) continue;
    found = true;
    EXPECT_TRUE(CheckedPlan(ApplyRemedy(job, remedy)).fits());
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace evenkeel::planner
