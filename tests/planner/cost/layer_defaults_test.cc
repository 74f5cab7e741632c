// How defaults of trainers change a layer's time.
#include <gtest/gtest.h>

#include "planner/cost/layer_profile.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kDefaultsPack{.tokens = 4096, .squared = 4096.0 * 4096};

LayerProfile DefaultsProfile(const Job& job, const Parallelism& p) {
  return BuildLayerProfile(job, p, kDefaultsPack, kDefaultsPack);
}

const LayerCost& LayerOf(const LayerProfile& profile, LayerKind kind) {
  for (const LayerCost& layer : profile.classes) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no layer of kind " << static_cast<int>(kind);
  return profile.classes.front();
}

// The down projection is 59 of the 218 million weights of a layer. Attention's scores and small
// kernels come on top of the products.
TEST(LayerDefaultsTest, ARecomputeThatStopsEarlyLeavesTheLastProductOut) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const auto repeated = [&](bool stops, bool lora) {
    job.training.execution.stops_recompute_early = stops;
    job.model.language_model.train = lora ? TrainMode::kLora : TrainMode::kFull;
    job.model.language_model.lora = {.rank = 16, .targets = kLoraMlpDown};
    const LayerProfile profile = DefaultsProfile(job, {.data = 8});
    const LayerCost& layer = LayerOf(profile, LayerKind::kDense);
    return layer.modes.back().repeated.at(kDefaultsPack) / layer.forward.at(kDefaultsPack);
  };
  EXPECT_EQ(repeated(false, false), 1);
  EXPECT_GT(repeated(true, false), 0.7);
  EXPECT_LT(repeated(true, false), 0.85);
  // An adapter of that product runs after it; only the residual is left out.
  EXPECT_GT(repeated(true, true), 0.97);
  EXPECT_LT(repeated(true, true), 1);
}

TEST(LayerDefaultsTest, TheFullestRankOfDroplessExpertsSetsTheTime) {
  Job job = TextJob("mixtral-8x7b", "h100-sxm-80gb", 8);
  const auto forward = [&](double capacity, int64_t expert) {
    job.training.execution.expert_capacity = capacity;
    const LayerProfile profile = DefaultsProfile(job, {.data = 8, .expert = expert});
    return LayerOf(profile, LayerKind::kMoe).forward.at(kDefaultsPack);
  };
  EXPECT_GT(forward(0, 8), 1.1 * forward(1, 8));
  EXPECT_LT(forward(0, 8), 1.5 * forward(1, 8));
  EXPECT_EQ(forward(0, 1), forward(1, 1));  // one rank has all rows
}

TEST(LayerDefaultsTest, TheSlowestOfManyGpusSetsTheTime) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.execution.host_launch_ns = 0;
  const auto forward = [&](int64_t gpus) {
    job.cluster.gpu_count = gpus;
    return LayerOf(DefaultsProfile(job, {.data = 8}), LayerKind::kDense).forward.at(kDefaultsPack);
  };
  const double slower = forward(8) * job.constants.slowest_gpu_ratio;
  EXPECT_EQ(forward(1), forward(8));
  EXPECT_NEAR(forward(12), forward(8) + slower / 2, 1);
  EXPECT_NEAR(forward(16), forward(8) + slower, 1);
  EXPECT_NEAR(forward(1024), forward(8) + 7 * slower, 1);
}

TEST(LayerDefaultsTest, EagerModulesMayHaveFusedNorms) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.execution.host_launch_ns = 0;
  const auto forward = [&](bool kernels, bool norms) {
    job.training.execution.fused_kernels = kernels;
    job.training.execution.fused_norms = norms;
    return LayerOf(DefaultsProfile(job, {.data = 8}), LayerKind::kDense).forward.at(kDefaultsPack);
  };
  EXPECT_LT(forward(false, true), forward(false, false));
  EXPECT_GT(forward(false, true), forward(true, false));
  EXPECT_EQ(forward(true, true), forward(true, false));
}

// Each pass of a layer takes longer by its traffic, whatever the pack.
TEST(LayerDefaultsTest, GatheringWeightsMovesMemory) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.zero_stage = ZeroStage::kWeights;
  Execution& e = job.training.execution;
  const auto layer = [&] { return LayerOf(DefaultsProfile(job, {.data = 8}), LayerKind::kDense); };
  const LayerCost before = layer();
  e.gather_traffic_bytes = 10;
  e.reduce_traffic_bytes = 20;
  const LayerCost after = layer();
  const double ns =
      static_cast<double>(before.parameters) / (3.35e12 * job.constants.hbm_efficiency) * 1e9;
  const auto longer = [&](PackCost LayerCost::*part) {
    return (after.*part).at(kDefaultsPack) - (before.*part).at(kDefaultsPack);
  };
  EXPECT_NEAR(longer(&LayerCost::forward_communication), 10 * ns, 0.02 * ns);
  EXPECT_NEAR(longer(&LayerCost::backward_communication), 30 * ns, 0.02 * ns);
  job.training.zero_stage = ZeroStage::kOptimizer;  // nothing is gathered
  const LayerCost without = layer();
  e.gather_traffic_bytes = e.reduce_traffic_bytes = 0;
  EXPECT_EQ(layer().forward_ns, without.forward_ns);
}

TEST(LayerDefaultsTest, ReducingInFp32TakesLonger) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 64);
  job.training.zero_stage = ZeroStage::kWeights;
  job.cluster.inter_node_bytes_per_second = 1e9;  // so that compute hides nothing
  const auto layer = [&](bool wide) {
    job.training.execution.reduces_fp32 = wide;
    return LayerOf(DefaultsProfile(job, {.data = 64}), LayerKind::kDense);
  };
  const LayerCost narrow = layer(false), wide = layer(true);
  EXPECT_EQ(narrow.forward_ns, wide.forward_ns);
  EXPECT_GT(static_cast<double>(wide.backward_ns), 1.3 * static_cast<double>(narrow.backward_ns));
}

// With as many ranks as share them, experts have no copies: nothing of them is gathered or reduced.
TEST(LayerDefaultsTest, ExpertsWithoutCopiesAreNotGathered) {
  Job job = TextJob("mixtral-8x7b", "h100-sxm-80gb", 8);
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution.gather_traffic_bytes = 64;
  const auto communication = [&](int64_t expert) {
    const LayerProfile profile = DefaultsProfile(job, {.data = 8, .expert = expert});
    const LayerCost& layer = LayerOf(profile, LayerKind::kMoe);
    return layer.forward_communication.constant / static_cast<double>(layer.parameters);
  };
  EXPECT_LT(communication(8), 0.3 * communication(1));
}

// Adapters alone are reduced; the frozen weights next to them are only gathered.
TEST(LayerDefaultsTest, FrozenWeightsAreNotReduced) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution.reduce_traffic_bytes = 64;
  const auto backward = [&](TrainMode train) {
    job.model.language_model.train = train;
    job.model.language_model.lora = {.rank = 16};
    return LayerOf(DefaultsProfile(job, {.data = 8}), LayerKind::kDense)
        .backward_communication.constant;
  };
  EXPECT_LT(backward(TrainMode::kLora), 0.2 * backward(TrainMode::kFull));
}

// With one rank per weight, so that an adapter of the four modules q, k, v and output reads 4 x
// 4096 values: a cast to fp32 and one back move 12 bytes of each, in both passes.
TEST(LayerDefaultsTest, Fp32AdaptersCastTheirInputs) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.execution.fused_kernels = false;
  job.training.execution.host_launch_ns = 0;
  job.model.language_model.train = TrainMode::kLora;
  job.model.language_model.lora = {.rank = 16, .targets = kLoraQkv | kLoraAttentionOut};
  const auto layer = [&](bool fp32) {
    job.training.execution.fp32_adapters = fp32;
    return LayerOf(DefaultsProfile(job, {.data = 8}), LayerKind::kDense);
  };
  const LayerCost before = layer(false), after = layer(true);
  const double ns = 12 * 4 * 4096.0 * 4096 / (3.35e12 * job.constants.hbm_efficiency) * 1e9;
  const auto longer = [&](PackCost LayerCost::*part) {
    return (after.*part).at(kDefaultsPack) - (before.*part).at(kDefaultsPack);
  };
  EXPECT_NEAR(longer(&LayerCost::forward), ns, 0.02 * ns);
  EXPECT_NEAR(longer(&LayerCost::backward), ns, 0.02 * ns);
  // q, k and v no longer share the copy of their input that they keep, nor the output's adapter its
  // with attention.
  EXPECT_EQ(after.modes.front().kept_bytes - before.modes.front().kept_bytes, 3 * 2 * 4096 * 4096);
}

TEST(LayerDefaultsTest, AdaptersThatAreGatheredAloneTakeTheirTime) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.execution.fused_kernels = false;
  job.training.zero_stage = ZeroStage::kWeights;
  job.model.language_model.train = TrainMode::kLora;
  job.model.language_model.lora = {.rank = 16, .targets = kLoraQkv | kLoraAttentionOut};
  const auto layer = [&](double ns) {
    job.training.execution.adapter_gather_ns = ns;
    return LayerOf(DefaultsProfile(job, {.data = 8}), LayerKind::kDense);
  };
  const LayerCost none = layer(0), some = layer(1e6);
  EXPECT_NEAR(some.forward.constant - none.forward.constant, 8e6, 1);  // 4 adapters
  EXPECT_NEAR(some.backward.constant - none.backward.constant, 16e6, 1);
  EXPECT_NEAR(some.modes.back().repeated.constant - none.modes.back().repeated.constant, 8e6, 1);
  job.training.zero_stage = ZeroStage::kOptimizer;
  EXPECT_EQ(layer(1e6).forward_ns, layer(0).forward_ns);
  job.training.zero_stage = ZeroStage::kWeights;
  job.cluster.gpu_count = 1;
  const auto alone = [&](double ns) {
    job.training.execution.adapter_gather_ns = ns;
    return LayerOf(DefaultsProfile(job, {}), LayerKind::kDense).forward.constant;
  };
  EXPECT_EQ(alone(1e6), alone(0)) << "one rank gathers nothing";
}

// torchtitan's selective recompute of operations keeps what experts exchange, or exchanges it
// again.
TEST(LayerDefaultsTest, ExchangesThatRunAgainAreNotKept) {
  Job job = TextJob("qwen3-30b-a3b", "h100-sxm-80gb", 8);
  job.training.trainer = FindTrainer("torchtitan");
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  const auto mode = [&](bool again) {
    job.training.execution.repeats_expert_exchanges = again;
    const LayerProfile profile = BuildLayerProfile(job, {.data = 8, .expert = 8}, kDefaultsPack,
                                                   kDefaultsPack, {kAlternateProducts});
    for (const RecomputeMode& m : LayerOf(profile, LayerKind::kMoe).modes)
      if (m.parts == kAlternateProducts) return m;
    ADD_FAILURE() << "no such mode";
    return RecomputeMode{};
  };
  const RecomputeMode kept = mode(false), again = mode(true);
  // Eight experts' rows of 2,048 values of each token, sent and brought back.
  EXPECT_EQ(kept.kept_bytes - again.kept_bytes, 2 * 8 * 2 * 2048 * 4096);
  EXPECT_GT(again.repeated_communication.at(kDefaultsPack),
            kept.repeated_communication.at(kDefaultsPack) + 1e5);
}

TEST(LayerDefaultsTest, CopiedRowsTakeTimeOnlyWithTensorParallelism) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const auto forward = [&](bool copies, int64_t tensor) {
    job.training.execution.copies_tensor_rows = copies;
    return LayerOf(DefaultsProfile(job, {.tensor = tensor, .data = 8 / tensor}), LayerKind::kDense)
        .forward_communication.at(kDefaultsPack);
  };
  EXPECT_EQ(forward(true, 1), forward(false, 1));
  // Four passes around attention and MLP read and write all rows.
  const double bytes = 4 * 4 * 4096.0 * 4096;
  const double ns = bytes / (3.35e12 * job.constants.hbm_efficiency) * 1e9;
  EXPECT_NEAR(forward(true, 4) - forward(false, 4), ns, 0.02 * ns);
}

TEST(LayerDefaultsTest, AnEncoderThatDoesNotRunTakesNoTime) {
  Job job = VisionJob("internvit-300m-448px", "llama3.2-3b", "h100-sxm-80gb", 8);
  job.training.execution.weight_hook_ns = 1e6;
  const LayerProfile profile = DefaultsProfile(job, {.data = 8});  // a pack without images
  const LayerCost& layer = LayerOf(profile, LayerKind::kEncoder);
  EXPECT_EQ(layer.forward_ns, 0);
  EXPECT_EQ(layer.backward_ns, 0);
}

}  // namespace
}  // namespace evenkeel::planner
