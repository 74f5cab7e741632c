// Weights in fp32 under autocast, kernels that are not fused, and remainders of master weights.
#include <gtest/gtest.h>

#include "planner/base/integers.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/cost/optimizer_time.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr double kTokens = 4096;
constexpr PackShape kFusionsPack{.units = 0, .tokens = kTokens, .squared = kTokens * kTokens};
constexpr Parallelism kTwoCopies{.tensor = 1, .pipeline = 1, .data = 2};
constexpr double kHidden = 4096, kFfn = 14336;  // of Llama 3 8B
constexpr double kLayerMatrices = 2 * kHidden * kHidden + 2 * kHidden * 1024 + 3 * kHidden * kFfn;

Job LlamaOf(const char* trainer, ZeroStage zero = ZeroStage::kNone) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 2);
  job.training.trainer = FindTrainer(trainer);
  job.training.zero_stage = zero;
  job.training.execution = DefaultExecution(*job.training.trainer, zero);
  return job;
}

Job Autocast(Job job) {
  SetAutocast(&job.training);
  return job;
}

LayerCost DenseLayer(const Job& job) {
  for (const LayerCost& layer :
       BuildLayerProfile(job, kTwoCopies, kFusionsPack, kFusionsPack).classes) {
    if (layer.kind == LayerKind::kDense) return layer;
  }
  ADD_FAILURE() << "no dense layer";
  return {};
}

double PerParameter(int64_t bytes, const LayerCost& layer) {
  return static_cast<double>(bytes) / static_cast<double>(layer.parameters);
}

// Returns the bytes per token that a layer without recompute holds of the pack.
double KeptPerToken(const LayerCost& layer) {
  return static_cast<double>(layer.modes.front().kept_bytes) / kTokens;
}

TEST(FusionsTest, AutocastHoldsFp32WeightsAndCopiesOfMatrices) {
  Job job = Autocast(LlamaOf("huggingface-trainer"));
  job.training.execution.copies_reduced_gradients = false;
  const LayerCost layer = DenseLayer(job);
  const double copies = 2 * kLayerMatrices / static_cast<double>(layer.parameters);
  EXPECT_NEAR(PerParameter(layer.weight_bytes, layer), 4 + copies, 1e-6);
  EXPECT_NEAR(PerParameter(layer.gradient_bytes, layer), 4, 1e-6);
  EXPECT_NEAR(PerParameter(layer.optimizer_bytes, layer), 8, 1e-6) << "moments alone";
}

TEST(FusionsTest, DdpCopiesGradientsThatItReduces) {
  const Job job = LlamaOf("huggingface-trainer");
  Job without = job;
  without.training.execution.copies_reduced_gradients = false;
  const LayerCost copied = DenseLayer(job), plain = DenseLayer(without);
  const double gradient = PerParameter(plain.gradient_bytes, plain);
  EXPECT_NEAR(PerParameter(copied.weight_bytes - plain.weight_bytes, plain), gradient, 1e-6);
  EXPECT_EQ(copied.gradient_bytes, plain.gradient_bytes);
  EXPECT_EQ(copied.host_bytes, plain.host_bytes) << "no checkpoint has them";
  const auto one_copy = [](const Job& of) {
    return BuildLayerProfile(of, {.data = 1}, kFusionsPack, kFusionsPack).classes[1].weight_bytes;
  };
  EXPECT_EQ(one_copy(job), one_copy(without)) << "nothing is reduced";
  Job sharded = LlamaOf("pytorch-fsdp", ZeroStage::kWeights);
  ASSERT_TRUE(sharded.training.execution.copies_reduced_gradients);
  const int64_t of_shards = DenseLayer(sharded).weight_bytes;
  sharded.training.execution.copies_reduced_gradients = false;
  EXPECT_EQ(DenseLayer(sharded).weight_bytes, of_shards) << "DDP runs only without ZeRO";
}

TEST(FusionsTest, AutoModelKeepsTheInputOfEachModuleThatItRecomputes) {
  const auto kept = [](const char* trainer) {
    return static_cast<double>(
        DenseLayer(LlamaOf(trainer, ZeroStage::kWeights)).modes.back().kept_bytes);
  };
  EXPECT_DOUBLE_EQ(kept("torchtitan"), 2 * kHidden * kTokens);
  EXPECT_DOUBLE_EQ(kept("nemo-automodel"), 4 * 2 * kHidden * kTokens);
}

TEST(FusionsTest, AutocastGathersFp32AndKeepsItsCopiesUntilTheBackwardPass) {
  const Job plain = LlamaOf("pytorch-fsdp", ZeroStage::kWeights);
  const LayerCost before = DenseLayer(plain), after = DenseLayer(Autocast(plain));
  EXPECT_NEAR(PerParameter(after.weight_bytes, after), 4 / 2.0, 1e-6);
  EXPECT_NEAR(PerParameter(after.optimizer_bytes, after), 8 / 2.0, 1e-6);
  // Two layers of weights, and gradients of one, less what the backward pass has freed by then.
  const int64_t held = after.modes.front().workspace_bytes - before.modes.front().workspace_bytes;
  EXPECT_NEAR(PerParameter(held, after), 3 * 2, 0.5);
  const double rows = KeptPerToken(after) - KeptPerToken(before) - 2 * kLayerMatrices / kTokens;
  // 2 bytes for each normalised value of two norms; two more copies of what q, k and v read, and
  // one of what gate and up read.
  EXPECT_NEAR(rows, (2 * 2 + 3 * 2) * kHidden, 1);
  // A recomputed layer keeps its input in fp32.
  EXPECT_EQ(after.modes.back().kept_bytes, 2 * before.modes.back().kept_bytes);
}

TEST(FusionsTest, AutocastTakesTime) {
  const Job plain = LlamaOf("huggingface-trainer");
  const LayerCost before = DenseLayer(plain), after = DenseLayer(Autocast(plain));
  // At least the traffic of casting the weights, at the peak of the memory.
  const double ns = 6 * kLayerMatrices / (plain.cluster.gpu.hbm_bytes_per_second * 1e-9);
  EXPECT_GT(after.forward.at(kFusionsPack) - before.forward.at(kFusionsPack), ns);
  EXPECT_GT(after.backward.at(kFusionsPack) - before.backward.at(kFusionsPack), ns);
}

TEST(FusionsTest, AGatedActivationThatIsNotFusedIsKept) {
  Job job = LlamaOf("megatron-core");
  const LayerCost fused = DenseLayer(job);
  job.training.execution.fused_activation = Fusion::kApart;
  const LayerCost apart = DenseLayer(job);
  EXPECT_NEAR(KeptPerToken(apart) - KeptPerToken(fused), 2 * kFfn, 1);
  EXPECT_GT(apart.forward.at(kFusionsPack), fused.forward.at(kFusionsPack));
  job.model.language_model.gated_mlp = false;
  const LayerCost plain = DenseLayer(job);
  job.training.execution.fused_activation = Fusion::kFused;
  EXPECT_EQ(DenseLayer(job).modes.front().kept_bytes, plain.modes.front().kept_bytes);
}

TEST(FusionsTest, RotaryEmbeddingsThatAreNotFusedTakeTimeAlone) {
  Job job = LlamaOf("megatron-core");
  const LayerCost fused = DenseLayer(job);
  job.training.execution.fused_rotary = Fusion::kApart;
  const LayerCost apart = DenseLayer(job);
  EXPECT_EQ(apart.modes.front().kept_bytes, fused.modes.front().kept_bytes);
  EXPECT_GT(apart.forward.at(kFusionsPack), fused.forward.at(kFusionsPack));
}

// Liger's kernels among eager modules.
TEST(FusionsTest, EagerModulesMayHaveFusedKernels) {
  Job job = LlamaOf("huggingface-trainer");
  const LayerCost eager = DenseLayer(job);
  job.training.execution.fused_activation = job.training.execution.fused_rotary = Fusion::kFused;
  job.training.execution.rms_norm_bytes = 2;
  const LayerCost liger = DenseLayer(job);
  EXPECT_NEAR(KeptPerToken(eager) - KeptPerToken(liger), 2 * (6 - 2) * kHidden + 2 * kFfn, 1);
  EXPECT_LT(liger.forward.at(kFusionsPack), eager.forward.at(kFusionsPack));
}

TEST(FusionsTest, TorchtitansNormsKeepTheirInputs) {
  Job job = LlamaOf("torchtitan", ZeroStage::kWeights);
  const LayerCost one = DenseLayer(job);
  job.training.execution.rms_norm_bytes = 0;
  EXPECT_NEAR(KeptPerToken(DenseLayer(job)) - KeptPerToken(one), 2 * (6 - 2) * kHidden, 1);
}

TEST(FusionsTest, RemaindersTakeTwoBytesAndLessTraffic) {
  Job job = LlamaOf("megatron-core");
  job.training.optimizer = Optimizer::kAdam16BitMoments;
  const auto states = [&] {
    return PerParameter(DenseLayer(job).optimizer_bytes, DenseLayer(job));
  };
  const auto update = [&] {
    const KernelTime kernels(job.cluster.gpu, job.constants);
    return UpdateTime(job, kernels, 1, 1e9);
  };
  EXPECT_NEAR(states(), 8, 1e-6);
  const double whole = update();
  job.training.execution.stores_weight_remainders = true;
  EXPECT_NEAR(states(), 6, 1e-6);
  EXPECT_LT(update(), whole);
  const double rest = update();
  job.training.offload.ratio = 0.5;  // Megatron's optimizer on the host stores none
  EXPECT_FALSE(StoresRemainders(job.training, RecordOf(job.training.optimizer)));
  job.training.offload.ratio = 0;
  job.training.precision = Precision::kFp8Delayed;
  EXPECT_TRUE(StoresRemainders(job.training, RecordOf(job.training.optimizer)));
  job.training.precision = Precision::kFp8Current;  // Megatron has fp32 master weights of its own
  EXPECT_FALSE(StoresRemainders(job.training, RecordOf(job.training.optimizer)));
  EXPECT_GT(update(), rest);
  job.training.precision = Precision::k16Bit;
  job.training.optimizer = Optimizer::kAdam16Bit;  // no master weights
  EXPECT_NEAR(states(), 4, 1e-6);
}

TEST(FusionsTest, MegatronsSmallMomentsHaveRemaindersAndCopies) {
  const auto of = [](const char* trainer, Optimizer optimizer, bool bfloat16 = true) {
    return DefaultExecution(*FindTrainer(trainer), ZeroStage::kOptimizer, optimizer, bfloat16);
  };
  for (const char* name : {"megatron-core", "megatron-bridge", "nemo", "unlimited"}) {
    for (const Optimizer small : {Optimizer::kAdam16BitMoments, Optimizer::kAdam8BitMoments}) {
      EXPECT_TRUE(of(name, small).stores_weight_remainders) << name;
      EXPECT_FALSE(of(name, small, /*bfloat16=*/false).stores_weight_remainders) << name;
      EXPECT_EQ(of(name, small).update_bytes_per_parameter, 8) << name;
    }
    EXPECT_FALSE(of(name, Optimizer::kAdam).stores_weight_remainders) << name;
    EXPECT_EQ(of(name, Optimizer::kAdam).update_bytes_per_parameter, 0) << name;
  }
  EXPECT_FALSE(of("torchtitan", Optimizer::kAdam16BitMoments).stores_weight_remainders);
}

}  // namespace
}  // namespace evenkeel::planner
