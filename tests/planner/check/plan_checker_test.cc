#include "planner/check/plan_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "planner/make_plan.h"
#include "planner/space/offload.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

struct Planted {
  const char* what;
  std::function<void(Plan&)> fault;
};

Job CheckedJob() {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);
  job.training.unit_cap = 24;
  job.training.token_cap = 8192;
  job.cluster.price_per_gpu_hour = 2;
  return job;
}

const double kNan = std::numeric_limits<double>::quiet_NaN();

const Planted kFaults[] = {
    {"a layer moved without its time",
     [](Plan& p) { --p.stages[0].layers.back().count, ++p.stages[1].layers.front().count; }},
    {"a layer left out", [](Plan& p) { --p.stages[3].layers[0].count; }},
    {"a layer twice", [](Plan& p) { ++p.stages[2].layers[0].count; }},
    {"a group left out", [](Plan& p) { p.stages[0].layers.erase(p.stages[0].layers.begin()); }},
    {"layers numbered wrongly", [](Plan& p) { ++p.stages[2].layers.back().first; }},
    {"kind changed", [](Plan& p) { p.stages[2].layers.back().kind = LayerKind::kMoe; }},
    {"less recompute",
     [](Plan& p) {
       for (LayerGroup& g : p.stages[0].layers)
         if (!g.recomputed.empty()) --g.recomputed.front().count;
     }},
    {"more recompute than layers",
     [](Plan& p) {
       LayerGroup& g = p.stages[0].layers.back();
       g.recomputed = {{.count = g.count + 1}};
     }},
    {"recompute below zero",
     [](Plan& p) { p.stages[3].layers.front().recomputed = {{.count = -1}}; }},
    {"parts that no layer has",
     [](Plan& p) { p.stages[0].layers.back().recomputed = {{.parts = 1u << 30, .count = 1}}; }},
    {"forward too quick", [](Plan& p) { --p.stages[1].forward_ns; }},
    {"backward too quick", [](Plan& p) { --p.stages[1].backward_ns; }},
    {"recompute time forgotten", [](Plan& p) { p.stages[0].recompute_ns += 1; }},
    {"p2p forgotten", [](Plan& p) { p.stages[1].send_ns = 0; }},
    {"p2p bytes", [](Plan& p) { ++p.stages[1].send_bytes; }},
    {"last stage sends", [](Plan& p) { p.stages[3].send_bytes = 1; }},
    {"packs in flight", [](Plan& p) { --p.stages[0].in_flight; }},
    {"parameters", [](Plan& p) { ++p.stages[2].parameters; }},
    {"weights", [](Plan& p) { p.stages[0].memory.weights -= 1024; }},
    {"activations", [](Plan& p) { p.stages[0].memory.activations /= 2; }},
    {"workspace", [](Plan& p) { p.stages[0].memory.workspace = 0; }},
    {"reserve", [](Plan& p) { p.stages[0].memory.allocator_reserve = 0; }},
    {"gradient pool", [](Plan& p) { p.stages[0].memory.gradient_pool = 1; }},
    {"framework", [](Plan& p) { p.stages[0].memory.framework = 0; }},
    {"communication buffers", [](Plan& p) { p.stages[0].memory.communication = 0; }},
    {"does not fit", [](Plan& p) { p.stages[0].capacity_bytes = p.stages[0].memory.total() - 1; }},
    {"capacity invented", [](Plan& p) { p.stages[0].capacity_bytes += 1 << 30; }},
    {"degrees", [](Plan& p) { p.parallelism.data *= 2; }},
    {"constraint broken", [](Plan& p) { std::swap(p.parallelism.tensor, p.parallelism.data); }},
    {"a stage missing", [](Plan& p) { p.stages.pop_back(); }},
    {"step parts", [](Plan& p) { ++p.prediction.step.data_sync_ns; }},
    {"negative part",
     [](Plan& p) {
       StepTime& t = p.prediction.step;
       t.imbalance_ns -= t.pipeline_bubble_ns + t.imbalance_ns + 1;
       t.pipeline_bubble_ns += t.pipeline_bubble_ns + 1;
     }},
    {"step shorter than its work",
     [](Plan& p) {
       StepTime& t = p.prediction.step;
       t = {.total_ns = 1};
       t.optimizer_ns = 1;
     }},
    {"micro-batches", [](Plan& p) { p.prediction.micro_batches *= 2; }},
    {"an epoch too short", [](Plan& p) { --p.prediction.steps_per_epoch; }},
    {"an epoch cut to what 64 bits of nanoseconds hold",
     [](Plan& p) { p.prediction.epoch_seconds *= 0.99; }},
    {"idle below 0", [](Plan& p) { p.batch_rule.idle_ratio = -1e-16; }},
    {"GPU-days", [](Plan& p) { p.prediction.gpu_days *= 0.99; }},
    {"cost", [](Plan& p) { p.prediction.cost = 0; }},
    {"samples per step", [](Plan& p) { p.prediction.samples_per_step = 512; }},
    {"utilisation above one", [](Plan& p) { p.prediction.mfu = 1.01; }},
    {"no number", [](Plan& p) { p.prediction.bubble_ratio = kNan; }},
    {"bound above the plan", [](Plan& p) { p.proof.lower_bound_ns = p.proof.step_ns + 1; }},
    {"gap below zero", [](Plan& p) { p.proof.gap = -0.1; }},
    {"faster than its bound", [](Plan& p) { p.proof.plan_lower_bound_ns = p.proof.step_ns + 1; }},
    {"all parallelisms pruned", [](Plan& p) { p.proof.parallelisms_unfit = p.proof.parallelisms; }},
    {"cap not honoured", [](Plan& p) { p.batch_rule.unit_cap = 30; }},
    {"mean above the cap", [](Plan& p) { p.batch_rule.mean_tokens = 8193; }},
    {"ratio above one", [](Plan& p) { p.batch_rule.dist_ratio_units = 1.5; }},
    {"no packs", [](Plan& p) { p.batch_rule.packs = 0; }},
    {"fits and does not", [](Plan& p) { p.misfit.emplace(); }},
};

// Returns the batching of the plan's own caps.
Batching BatchingOf(const Job& job, const Plan& plan) {
  return MakeBatching(job, {plan.batch_rule.unit_cap, plan.batch_rule.token_cap}, "");
}

template <size_t N>
void ExpectFaultsAreFound(const Job& job, const Batching& batching, const Plan& good,
                          const Planted (&faults)[N]) {
  for (const Planted& planted : faults) {
    Plan plan = good;
    planted.fault(plan);
    EXPECT_FALSE(CheckPlan(job, batching, plan).empty()) << planted.what;
  }
}

// The epoch has more nanoseconds than 64 bits hold.
TEST(PlanCheckerTest, TheLongestEpochsAreTheirStepsTimesTheirTime) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  job.dataset = {.bins = {{0, 4096, 1'000'000'000'000}}};
  const PlanResult result = MakePlan(job, {});
  ASSERT_EQ(result.end, PlanEnd::kComplete);
  const Prediction& p = result.plan.prediction;
  EXPECT_GT(p.epoch_seconds, 9.3e9);
  EXPECT_NEAR(p.epoch_seconds * 16 / 86400 / p.gpu_days, 1, 1e-9);
}

TEST(PlanCheckerTest, FindsEveryPlantedFault) {
  const Job job = CheckedJob();
  const Batching batching = MakeBatching(job);
  const PlanResult good = MakePlan(job, {});
  ASSERT_EQ(good.end, PlanEnd::kComplete);
  ASSERT_TRUE(good.plan.fits());
  ASSERT_TRUE(CheckPlan(job, batching, good.plan).empty());
  int64_t recomputed = 0;
  for (const LayerGroup& g : good.plan.stages[0].layers) recomputed += g.recomputed_count();
  ASSERT_GT(recomputed, 0) << "the job must need recompute, or some faults change nothing";
  ExpectFaultsAreFound(job, batching, good.plan, kFaults);
}

const Planted kMisfitFaults[] = {
    {"no shortage",
     [](Plan& p) {
       p.misfit->memory.activations -= p.misfit->short_bytes;
       p.misfit->memory.activations_by_kind[LayerKind::kDense] -= p.misfit->short_bytes;
       p.misfit->short_bytes = 0;
     }},
    {"short by 1 byte", [](Plan& p) { p.misfit->short_bytes = 1; }},
    {"shortage without a stage", [](Plan& p) { p.misfit = Misfit{.short_bytes = 1}; }},
    {"another stage's layers", [](Plan& p) { --p.misfit->layers.back().count; }},
    {"no layers", [](Plan& p) { p.misfit->layers.clear(); }},
    {"fewer than no layers",
     [](Plan& p) {
       LayerGroup& group = p.misfit->layers[1];
       group.recomputed = {{0, -1}, {kWholeLayer, group.count + 1}};
     }},
    {"more layers than there are", [](Plan& p) { p.misfit->layers[1].count = int64_t{1} << 40; }},
    {"no such stage", [](Plan& p) { p.misfit->stage = p.misfit->parallelism.pipeline; }},
    {"degrees", [](Plan& p) { p.misfit->parallelism.data *= 2; }},
    {"capacity", [](Plan& p) { p.misfit->capacity_bytes -= 1, p.misfit->short_bytes += 1; }},
    {"negative workspace",
     [](Plan& p) {
       p.misfit->memory.buffers += p.misfit->memory.workspace + 1;
       p.misfit->memory.workspace = -1;
     }},
    {"logits above the workspace",
     [](Plan& p) { p.misfit->memory.logits = p.misfit->memory.workspace + 1; }},
    {"kinds of layers", [](Plan& p) { ++p.misfit->memory.activations_by_kind[LayerKind::kHead]; }},
    {"weights", [](Plan& p) { p.misfit->memory.weights -= 1, p.misfit->memory.optimizer += 1; }},
    {"misfit with stages", [](Plan& p) { p.stages.emplace_back(); }},
};

TEST(PlanCheckerTest, FindsEveryPlantedFaultOfAMisfit) {
  const Job job = TextJob("llama3-70b", "a100-sxm-80gb", 8);
  const PlanResult good = MakePlan(job, {});
  ASSERT_EQ(good.end, PlanEnd::kComplete);
  ASSERT_FALSE(good.plan.fits());
  const Batching planned = BatchingOf(job, good.plan);
  ASSERT_EQ(CheckPlan(job, planned, good.plan), std::vector<std::string>{});
  ExpectFaultsAreFound(job, planned, good.plan, kMisfitFaults);
}

const Planted kOffloadFaults[] = {
    {"no report", [](Plan& p) { p.offload.reset(); }},
    {"states on neither side", [](Plan& p) { p.stages[1].offloaded_bytes /= 2; }},
    {"states on both sides", [](Plan& p) { p.stages[0].offloaded_bytes *= 2; }},
    {"a GPU without states", [](Plan& p) { p.stages[0].memory.optimizer = 0; }},
    {"more than a host has", [](Plan& p) { p.placement.host_memory_bytes = int64_t{1} << 41; }},
    {"less than the states", [](Plan& p) { p.placement.host_memory_bytes = int64_t{1} << 33; }},
};

TEST(PlanCheckerTest, FindsEveryPlantedFaultOfAnOffload) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 4);
  FixDegrees(job, 1, 2, 2);
  job.training.token_cap = 4096;
  job.training.offload = {.asked = true, .ratio = 0.5, .charged_ratio = 0.5};
  const PlanResult good = MakePlan(job, {});
  ASSERT_EQ(good.end, PlanEnd::kComplete);
  ASSERT_TRUE(good.plan.fits());
  const Batching planned = BatchingOf(job, good.plan);
  ASSERT_EQ(CheckPlan(job, planned, good.plan), std::vector<std::string>{});
  ExpectFaultsAreFound(job, planned, good.plan, kOffloadFaults);
  job.training.trainer = FindTrainer("torchtitan");  // which offloads nothing
  EXPECT_FALSE(CheckPlan(job, planned, good.plan).empty());
}

const Planted kActivationFaults[] = {
    {"no report", [](Plan& p) { p.offload.reset(); }},
    {"bytes on neither side", [](Plan& p) { p.stages[0].offloaded_activation_bytes /= 2; }},
    {"bytes on both sides", [](Plan& p) { p.stages[0].memory.activations *= 2; }},
    {"copies that take no time", [](Plan& p) { p.stages[0].forward_ns /= 2; }},
    {"less than the host holds", [](Plan& p) { p.placement.host_memory_bytes = int64_t{1} << 33; }},
    {"more than a host has", [](Plan& p) { p.placement.host_memory_bytes = int64_t{1} << 43; }},
};

TEST(PlanCheckerTest, FindsEveryPlantedFaultOfOffloadedActivations) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  FixDegrees(job, 2, 1, 4);
  job.training.token_cap = 8192;
  AskActivationOffload(24, &job);
  const PlanResult good = MakePlan(job, {});
  ASSERT_EQ(good.end, PlanEnd::kComplete);
  ASSERT_TRUE(good.plan.fits());
  const Batching planned = BatchingOf(job, good.plan);
  ASSERT_EQ(CheckPlan(job, planned, good.plan), std::vector<std::string>{});
  ExpectFaultsAreFound(job, planned, good.plan, kActivationFaults);
  job.training.activations.layers = job.training.activations.charged_layers = 12;
  EXPECT_FALSE(CheckPlan(job, planned, good.plan).empty());
  job.training.trainer = FindTrainer("torchtitan");
  EXPECT_FALSE(CheckPlan(job, planned, good.plan).empty());
}

const Planted kModuleFaults[] = {
    {"bytes that the host lacks",
     [](Plan& p) {
       p.stages[0].offloaded_activation_bytes = 9 * p.stages[0].offloaded_activation_bytes / 10;
     }},
    {"bytes of every chunk's own peak",
     [](Plan& p) {
       p.stages[1].offloaded_activation_bytes = 6 * p.stages[1].offloaded_activation_bytes / 5;
     }},
    {"bytes on both sides",
     [](Plan& p) { p.stages[1].memory.activations += p.stages[1].offloaded_activation_bytes; }},
    {"copies that take no time", [](Plan& p) { p.stages[0].forward_ns /= 2; }},
    {"a layer of another chunk", [](Plan& p) { ++p.stages[0].layers.front().chunk; }},
};

TEST(PlanCheckerTest, FindsEveryPlantedFaultOfInterleavedModules) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 2, 8192);
  job.model.language_model.layers = 10;
  FixDegrees(job, 1, 2, 1);
  job.constraints.virtual_stages = {2, 2};
  job.cluster.host_link_bytes_per_second = 1e9;  // passes wait
  AskModuleOffload(kOffloadQkv, &job);
  job = WithModules(job, kOffloadQkv, kOffloadQkv, {});
  const PlanResult good = MakePlan(job, {});
  ASSERT_EQ(good.end, PlanEnd::kComplete);
  ASSERT_TRUE(good.plan.fits());
  ASSERT_EQ(good.plan.parallelism.virtual_stages, 2);
  const Batching planned = BatchingOf(job, good.plan);
  ASSERT_EQ(CheckPlan(job, planned, good.plan), std::vector<std::string>{});
  ExpectFaultsAreFound(job, planned, good.plan, kModuleFaults);
  job.training.activations.modules = job.training.activations.charged_modules =
      kOffloadCoreAttention;
  EXPECT_FALSE(CheckPlan(job, planned, good.plan).empty());
}

const Planted kFusedFaults[] = {
    {"gradients that stay", [](Plan& p) { p.stages[0].memory.gradients = 1; }},
    {"no room for a layer's", [](Plan& p) { p.stages[0].memory.workspace = 1 << 20; }},
    {"fewer states", [](Plan& p) { p.stages[0].memory.optimizer /= 2; }},
    {"updates in no time", [](Plan& p) { p.stages[0].backward_ns /= 2; }},
    {"an optimizer in no time", [](Plan& p) { p.prediction.step.optimizer_ns = 0; }},
    {"several packs", [](Plan& p) { p.prediction.micro_batches = 2; }},
};

TEST(PlanCheckerTest, FindsEveryPlantedFaultOfAFusedStep) {
  Job job = TrainedBy(TextJob("llama3-8b", "h100-sxm-80gb", 8), "torchtitan");
  job.training.token_cap = 8192;
  job.training.fused_step = true;
  job.training.global_batch_samples = 8;
  const PlanResult good = MakePlan(job, {});
  ASSERT_EQ(good.end, PlanEnd::kComplete);
  ASSERT_TRUE(good.plan.fits());
  const Batching planned = BatchingOf(job, good.plan);
  ASSERT_EQ(CheckPlan(job, planned, good.plan), std::vector<std::string>{});
  ExpectFaultsAreFound(job, planned, good.plan, kFusedFaults);
  job.training.trainer = FindTrainer("llm-foundry");  // which has none
  EXPECT_FALSE(CheckPlan(job, planned, good.plan).empty());
}

// Returns an interleaved job over ring context ranks.
Job WholeSpaceJob() {
  Job job = WholeSpace(TextJob("llama3-8b", "h100-sxm-80gb", 32));
  job.training.global_batch_samples = 128;
  job.training.execution.context = ContextKind::kRing;
  FixDegrees(job, 2, 4, 2);
  job.constraints.context_parallel = {2, 2};
  job.constraints.virtual_stages = {2, 2};
  return job;
}

const Planted kWholeSpaceFaults[] = {
    {"context degree", [](Plan& p) { p.parallelism.context = 1; }},
    {"expert degree", [](Plan& p) { p.parallelism.expert = 2; }},
    {"a degree of 0", [](Plan& p) { p.parallelism.expert = 0; }},
    {"chunks", [](Plan& p) { p.parallelism.virtual_stages = 1; }},
    {"more chunks", [](Plan& p) { p.parallelism.virtual_stages = 4; }},
    {"schedule", [](Plan& p) { p.schedule = Schedule::kOneFOneB; }},
    {"chunks exchanged",
     [](Plan& p) { std::swap(p.stages[1].layers.front(), p.stages[1].layers.back()); }},
    {"a chunk on the wrong stage", [](Plan& p) { std::swap(p.stages[1], p.stages[2]); }},
    {"a layer of no chunk", [](Plan& p) { p.stages[0].layers.back().chunk = 7; }},
    {"chunks in flight", [](Plan& p) { --p.stages[0].in_flight; }},
    {"activations of 1F1B", [](Plan& p) { p.stages[0].memory.activations /= 2; }},
    {"p2p to the first stage", [](Plan& p) { p.stages[3].send_ns = 0; }},
    {"bytes of one chunk alone", [](Plan& p) { p.stages[1].send_bytes /= 2; }},
};

TEST(PlanCheckerTest, FindsEveryPlantedFaultOfTheWholeSpace) {
  const Job job = WholeSpaceJob();
  const PlanResult good = MakePlan(job, {});
  ASSERT_EQ(good.end, PlanEnd::kComplete);
  ASSERT_TRUE(good.plan.fits());
  ASSERT_EQ(good.plan.parallelism.virtual_stages, 2);
  ASSERT_EQ(good.plan.schedule, Schedule::kInterleaved);
  const Batching planned = BatchingOf(job, good.plan);
  ASSERT_TRUE(CheckPlan(job, planned, good.plan).empty());
  ExpectFaultsAreFound(job, planned, good.plan, kWholeSpaceFaults);
}

TEST(PlanCheckerTest, HoldsTheRulesOfSharing) {
  Job job = WholeSpaceJob();
  const Plan plan = MakePlan(job, {}).plan;
  const Batching batching = BatchingOf(job, plan);
  job.training.trainer = &TrainerOf(Framework::kFsdp);  // then there is no pipeline
  EXPECT_FALSE(CheckPlan(job, batching, plan).empty());
  job = WholeSpaceJob();
  job.constraints.schedule = Schedule::kZeroBubble;
  EXPECT_FALSE(CheckPlan(job, batching, plan).empty());
}

TEST(PlanCheckerTest, HoldsTheRecomputePolicy) {
  Job job = CheckedJob();
  const Batching batching = MakeBatching(job);
  const Plan plan = MakePlan(job, {}).plan;
  job.constraints.recompute = RecomputePolicy::kForbidden;
  EXPECT_FALSE(CheckPlan(job, batching, plan).empty());
  job.constraints.recompute = RecomputePolicy::kFull;
  EXPECT_FALSE(CheckPlan(job, batching, plan).empty());
}

// Returns a job with four stages whose memory does not hold all activations.
Job OneSettingJob(const char* trainer, int64_t token_cap) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  job.training.trainer = FindTrainer(trainer);
  FixDegrees(job, 1, 4, 2);
  job.training.token_cap = token_cap;
  job.training.global_batch_samples = 64;
  job.constraints.recompute = RecomputePolicy::kOneSetting;
  return job;
}

TEST(PlanCheckerTest, HoldsAllStagesToOneRecomputeSetting) {
  bool blocks = false, parts = false;
  for (const auto& [trainer, cap] : {std::pair("megatron-core", 12288),
                                     {"internevo", 12288},
                                     {"megatron-core", 4096},
                                     {"internevo", 16384}}) {
    const Job job = OneSettingJob(trainer, cap);
    const Batching batching = MakeBatching(job);
    const Plan good = MakePlan(job, {}).plan;
    ASSERT_TRUE(good.fits()) << cap;
    ASSERT_TRUE(CheckPlan(job, batching, good).empty()) << cap;
    const LayerGroup& last = good.stages[3].layers.front();
    if (last.recomputed.empty()) continue;
    (last.recomputed.front().parts == kWholeLayer ? blocks : parts) = true;
    // If each stage had its own recompute, it could be quicker, but the policy forbids that.
    Plan own = good;
    own.stages[3].layers.front().recomputed.clear();
    own.stages[3].recompute_ns = 0;
    const std::vector<std::string> faults = CheckPlan(job, batching, own);
    EXPECT_TRUE(std::any_of(faults.begin(), faults.end(), [](const std::string& fault) {
      return fault.find("recompute: stages differ") != std::string::npos;
    })) << cap;
  }
  EXPECT_TRUE(blocks);
  EXPECT_TRUE(parts);
}

TEST(PlanCheckerTest, HoldsAPlanToWhatItsTrainerCanDo) {
  const auto has = [](const std::vector<std::string>& faults, const std::string& text) {
    return std::any_of(faults.begin(), faults.end(), [&](const std::string& fault) {
      return fault.find(text) != std::string::npos;
    });
  };
  Job job = WholeSpace(CheckedJob());
  job.constraints.encoder_data = {1, 1};
  const Batching batching = MakeBatching(job);
  const Plan cut = MakePlan(job, {}).plan;
  ASSERT_FALSE(has(CheckPlan(job, batching, cut), "cannot cut"));
  Job whole = job;
  whole.training.trainer = FindTrainer("megatron-core");
  EXPECT_TRUE(has(CheckPlan(whole, batching, cut), "a part of an encoder that the trainer cannot"));
  EXPECT_TRUE(CheckPlan(whole, batching, MakePlan(whole, {}).plan).empty());
  Job shared = job;
  shared.constraints.encoder_data = {2, 2};
  const Plan sharing = MakePlan(shared, {}).plan;
  EXPECT_FALSE(has(CheckPlan(shared, batching, sharing), "images"));
  whole.constraints.encoder_data = {1, 0};
  EXPECT_TRUE(has(CheckPlan(whole, batching, sharing), "images shared by a trainer that"));

  Job text = WholeSpace(TextJob("llama3-70b", "h100-sxm-80gb", 64));
  FixDegrees(text, 4, 4, 4);
  const Plan interleaved = MakePlan(text, {}).plan;
  ASSERT_GT(interleaved.parallelism.virtual_stages, 1);
  text.training.trainer = FindTrainer("nanotron");
  EXPECT_TRUE(has(CheckPlan(text, MakeBatching(text), interleaved), "virtual stages that nobody"));
}

TEST(PlanCheckerTest, HoldsTheCutOfATrainerThatCutsByItself) {
  for (const char* name : {"nanotron", "internevo"}) {
    Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
    job.model.language_model.layers = 34;
    job.training.trainer = FindTrainer(name);
    job.constraints.partition_method = job.training.trainer->partition_method;
    job.constraints.schedule = Schedule::kOneFOneB;
    FixDegrees(job, 2, 4, 2);
    job.training.token_cap = 4096;
    const Batching batching = MakeBatching(job);
    const Plan own = MakePlan(job, {}).plan;
    ASSERT_TRUE(own.fits());
    EXPECT_EQ(CheckPlan(job, batching, own), std::vector<std::string>{}) << name;
    ASSERT_TRUE(own.trainer_limits_cost) << name;
    Job free = job;
    free.constraints.partition_method = PartitionMethod::kExact;
    const Plan exact = MakePlan(free, {}).plan;
    EXPECT_LT(exact.prediction.gpu_days, own.prediction.gpu_days) << name;
    EXPECT_GT(*own.trainer_limits_cost, 0) << name;
    EXPECT_FALSE(CheckPlan(job, batching, exact).empty()) << name;
  }
}

TEST(PlanCheckerTest, HoldsAGivenPartition) {
  Job job = CheckedJob();
  const Batching batching = MakeBatching(job);
  const Plan plan = MakePlan(job, {}).plan;
  job.constraints.stage_layers = {20, 25, 24, 24};
  EXPECT_FALSE(CheckPlan(job, batching, plan).empty());
}

TEST(PlanCheckerTest, MisfitMustSayWhatIsMissing) {
  const Job job = TextJob("llama3-70b", "a100-sxm-80gb", 8);
  const Batching batching = MakeBatching(job);
  Plan plan = MakePlan(job, {}).plan;
  ASSERT_FALSE(plan.fits());
  EXPECT_TRUE(CheckPlan(job, batching, plan).empty());
  plan.misfit->short_bytes = 0;
  EXPECT_FALSE(CheckPlan(job, batching, plan).empty());
}

}  // namespace
}  // namespace evenkeel::planner
