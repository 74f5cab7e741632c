#include "planner/cost/layer_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "planner/base/integers.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kProfilePack{.units = 9, .tokens = 4096, .squared = 4096.0 * 4096};

LayerProfile ProfileFor(const Job& job, const Parallelism& p = {}) {
  return BuildLayerProfile(job, p, kProfilePack, kProfilePack);
}

int64_t Parameters(const LayerProfile& profile) {
  int64_t sum = 0;
  for (int64_t i = 0; i < profile.size(); ++i) sum += profile.at(i).parameters;
  return sum;
}

const LayerCost& Kind(const LayerProfile& profile, LayerKind kind) {
  for (const LayerCost& layer : profile.classes) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no layer of kind " << static_cast<int>(kind);
  return profile.classes.front();
}

double Kept(const Job& job, const Parallelism& p) {
  return static_cast<double>(Kind(ProfileFor(job, p), LayerKind::kDense).modes.front().kept_bytes);
}

TEST(LayerProfileTest, ParametersOfEveryLanguageModelAreThoseOfTheCatalogue) {
  for (const LanguageModelEntry& entry : LanguageModels()) {
    const Job job = TextJob(entry.spec.name, "a100-sxm-80gb", 8);
    EXPECT_EQ(Parameters(ProfileFor(job)), CountParameters(entry.spec)) << entry.spec.name;
  }
}

TEST(LayerProfileTest, ParametersOfEveryVisionLanguageModelAreThoseOfTheCatalogue) {
  for (const VisionLanguageEntry& entry : VisionLanguageModels()) {
    Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
    job.model = entry.spec;
    EXPECT_EQ(Parameters(ProfileFor(job)), CountParameters(entry.spec)) << entry.spec.name;
  }
}

TEST(LayerProfileTest, AnEncoderWithoutImagesTakesNoTime) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  job.model = VisionLanguageModels().front().spec;
  const PackShape text{.tokens = 4096, .squared = 4096.0 * 4096};
  const LayerProfile without = BuildLayerProfile(job, {}, text, text), with = ProfileFor(job);
  for (const LayerKind kind :
       {LayerKind::kPatchEmbedding, LayerKind::kEncoder, LayerKind::kProjector}) {
    EXPECT_EQ(Kind(without, kind).forward_ns, 0);
    EXPECT_EQ(Kind(without, kind).backward_ns, 0);
    EXPECT_EQ(Kind(without, kind).parameters, Kind(with, kind).parameters);
    EXPECT_GT(Kind(with, kind).forward_ns, 0);
  }
}

// Without the fusion, Megatron reads a 16-bit gradient of each weight, and reads and writes the
// buffer, of fp32 or 16-bit values. PyTorch's modules have no such buffer.
TEST(LayerProfileTest, WeightGradientsThatAreAddedApartTakeTime) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  const auto backward = [&](bool fused) {
    job.training.execution.fused_weight_gradients = fused;
    const LayerProfile profile = ProfileFor(job);
    return Kind(profile, LayerKind::kDense).backward.at(kProfilePack);
  };
  const double parameters = D(Kind(ProfileFor(job), LayerKind::kDense).parameters);
  const double ns_per_byte = 1e9 / (0.8 * job.cluster.gpu.hbm_bytes_per_second);
  EXPECT_NEAR((backward(false) - backward(true)) / (10 * parameters * ns_per_byte), 1, .02);
  job.training.distributed_gradients_fp32 = false;
  EXPECT_NEAR((backward(false) - backward(true)) / (6 * parameters * ns_per_byte), 1, .02);
  job.training.trainer = FindTrainer("torchtitan");
  EXPECT_EQ(backward(false), backward(true));
  // Kernel rates of trainers of eager modules include it.
  job.training.trainer = FindTrainer("nanotron");
  ASSERT_EQ(job.training.trainer->framework, Framework::kMegatron);
  EXPECT_EQ(backward(false), backward(true));
}

// With 64 rows, the fused product takes the time of the 8 bytes that it reads and writes of each
// weight's gradient, or of 4 in 16 bits. The other writes 2, which takes less than its FLOPs: 3.4.
TEST(LayerProfileTest, WeightGradientsOfFewRowsAreMovedOnce) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  job.training.execution.host_launch_ns = 0;
  const PackShape small{.tokens = 64, .squared = 64.0 * 64};
  const auto backward = [&](bool fused) {
    job.training.execution.fused_weight_gradients = fused;
    return Kind(BuildLayerProfile(job, {}, small, small), LayerKind::kDense).backward.at(small);
  };
  const double parameters = D(Kind(ProfileFor(job), LayerKind::kDense).parameters);
  const double ns = 1e9 / (0.8 * job.cluster.gpu.hbm_bytes_per_second) * parameters;
  EXPECT_NEAR((backward(false) - backward(true)) / ((10 - 8 + 3.4) * ns), 1, .05);
  job.training.distributed_gradients_fp32 = false;
  EXPECT_NEAR((backward(false) - backward(true)) / ((6 - 4 + 3.4) * ns), 1, .05);
}

// On Hopper there are two passes over the gradient of each pair. Other GPUs have other kernels.
TEST(LayerProfileTest, DeterministicBackwardPassesTakeLonger) {
  for (const char* gpu : {"a100-sxm-80gb", "h100-sxm-80gb", "b200-sxm-180gb"}) {
    Job job = TextJob("llama3-8b", gpu, 8);
    const auto layer = [&](bool deterministic) {
      job.training.execution.deterministic = deterministic;
      const LayerProfile profile = ProfileFor(job);
      return Kind(profile, LayerKind::kDense);
    };
    EXPECT_GT(layer(true).backward.at(kProfilePack), layer(false).backward.at(kProfilePack)) << gpu;
    EXPECT_GT(layer(true).forward.at(kProfilePack), layer(false).forward.at(kProfilePack)) << gpu;
    // PyTorch's modules fill no tensors, so their forward pass is the same unless the kernel is
    // another one.
    job.training.execution.fused_kernels = false;
    const bool blackwell = job.cluster.gpu.costs.generation == GpuGeneration::kBlackwell;
    EXPECT_EQ(layer(true).forward.at(kProfilePack) > layer(false).forward.at(kProfilePack),
              blackwell)
        << gpu;
  }
}

TEST(LayerProfileTest, TiedHeadIsHeldTwiceWhereStagesDiffer) {
  const Job job = TextJob("llama3.2-3b", "a100-sxm-80gb", 8);
  const LanguageModel& m = job.model.language_model;
  ASSERT_TRUE(m.tied_embeddings);
  EXPECT_EQ(Parameters(ProfileFor(job, {1, 2, 4})) - Parameters(ProfileFor(job, {1, 1, 8})),
            m.vocab * m.hidden);
}

// Of q, k, v, output, gate, up and down, every other one is kept: q, v, gate and down, besides the
// layer's input and attention's result. torchtitan: SelectiveAC.
TEST(LayerProfileTest, AlternateProductsOfTorchtitan) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.trainer = FindTrainer("torchtitan");
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  job.training.zero_stage = ZeroStage::kWeights;
  const LanguageModel& m = job.model.language_model;
  const LayerProfile profile = ProfileFor(job, {1, 1, 8});
  const LayerCost& layer = Kind(profile, LayerKind::kDense);
  ASSERT_EQ(layer.modes.size(), 3u);
  const RecomputeMode& some = layer.modes[1];
  EXPECT_EQ(some.parts, static_cast<RecomputeParts>(kAlternateProducts));
  const int64_t values = m.hidden + 4096 + 1024 + (4096 + 2 * 32) + m.ffn + m.hidden;
  EXPECT_EQ(some.kept_bytes, 2 * values * 4096);
  const double share = some.repeated.at(kProfilePack) / layer.forward.at(kProfilePack);
  EXPECT_GT(share, 0.3);
  EXPECT_LT(share, 0.5);
  // An encoder's layers, which its policy does not wrap, are recomputed whole or not at all.
  job.model = QuickstartJob().model;
  const LayerProfile vision = ProfileFor(job, {1, 1, 8});
  EXPECT_EQ(Kind(vision, LayerKind::kEncoder).modes.size(), 2u);
}

TEST(LayerProfileTest, ProductsHideAShareOfTensorCommunication) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const auto communication = [&](bool overlap, double share) {
    job.training.execution.overlap_tensor = overlap;
    const bool megatron = job.training.trainer->megatron_kernels;
    (megatron ? job.constants.engine_overlap : job.constants.tensor_overlap) = share;
    const LayerProfile profile = ProfileFor(job, {8, 1, 1});
    return Kind(profile, LayerKind::kDense).forward_communication.at(kProfilePack);
  };
  for (const char* const trainer : {"megatron-core", "torchtitan"}) {
    job.training.trainer = FindTrainer(trainer);
    const double whole = communication(false, 1), least = communication(true, 1);
    EXPECT_EQ(communication(true, 0), whole);
    EXPECT_LT(least, whole);
    EXPECT_GE(least, whole / 8);
    EXPECT_NEAR(communication(true, 0.5), (whole + least) / 2, 1);
  }
}

TEST(LayerProfileTest, QuantisedRowsAreGatheredInTheirFormat) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const auto communication = [&](LayerKind kind, Precision precision) {
    job.training.precision = precision;
    const LayerProfile profile = ProfileFor(job, {8, 1, 1});
    return Kind(profile, kind).forward_communication.at(kProfilePack);
  };
  const double wide = communication(LayerKind::kDense, Precision::k16Bit);
  const double narrow = communication(LayerKind::kDense, Precision::kFp8Delayed);
  EXPECT_LT(narrow, 0.85 * wide);  // gathers are halved, sums are not
  EXPECT_GT(narrow, 0.7 * wide);
  EXPECT_EQ(communication(LayerKind::kHead, Precision::kFp8Delayed),
            communication(LayerKind::kHead, Precision::k16Bit));
  // torchao gathers 8 bits only with one scale per tensor.
  job.training.execution.keeps_quantised_inputs = false;
  EXPECT_EQ(communication(LayerKind::kDense, Precision::kFp8Delayed), wide);
  EXPECT_EQ(communication(LayerKind::kDense, Precision::kFp8Current), narrow);
}

// ZeRO-3 gathers a layer's weights during the layers before it, which lend it processors.
TEST(LayerProfileTest, HiddenGathersAreNotFree) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.trainer = FindTrainer("pytorch-fsdp");
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  job.training.execution.gather_traffic_bytes = 0;
  const auto communication = [&](double processors) {
    job.constants.collective_processors = processors;
    const LayerProfile profile = ProfileFor(job, {1, 1, 8});
    return Kind(profile, LayerKind::kDense).forward_communication.at(kProfilePack);
  };
  EXPECT_EQ(communication(0), 0) << "compute hides the gather";
  const double lent = communication(20);
  EXPECT_GT(lent, 0);
  EXPECT_DOUBLE_EQ(communication(40), 2 * lent);
}

// One gather of FSDP serves recompute and the backward pass, and counts there. DeepSpeed gathers
// for each, and so does FSDP in a reentrant checkpoint.
TEST(LayerProfileTest, RecomputeGathersAgainWhereTheTrainerDoes) {
  for (const auto& [trainer, again] :
       {std::pair("pytorch-fsdp", false), std::pair("pytorch-fsdp", true),
        std::pair("torchtitan", false), std::pair("deepspeed", true)}) {
    Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
    job.training.trainer = FindTrainer(trainer);
    job.training.zero_stage = ZeroStage::kWeights;
    job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
    job.training.execution.stops_recompute_early = false;
    if (job.training.trainer->framework == Framework::kFsdp)
      job.training.execution.gathers_to_recompute = again;
    for (const double bandwidth : {450e9, 1e9}) {
      job.cluster.intra_node_bytes_per_second = bandwidth;
      const LayerProfile profile = ProfileFor(job, {1, 1, 8});
      const LayerCost& layer = Kind(profile, LayerKind::kDense);
      const double gather = layer.forward_communication.at(kProfilePack);
      EXPECT_GT(gather, 0);
      EXPECT_EQ(layer.modes.back().repeated_communication.at(kProfilePack), again ? gather : 0)
          << trainer;
      EXPECT_EQ(layer.modes.back().repeated.at(kProfilePack), layer.forward.at(kProfilePack));
    }
  }
}

TEST(LayerProfileTest, ChainFollowsTheModel) {
  const LayerProfile profile = ProfileFor(QuickstartJob());
  EXPECT_EQ(profile.size(), 1 + 45 + 1 + 1 + 48 + 1);
  EXPECT_EQ(profile.transformer_layers, 93);
  EXPECT_EQ(profile.at(0).kind, LayerKind::kPatchEmbedding);
  EXPECT_EQ(profile.at(46).kind, LayerKind::kProjector);
  EXPECT_EQ(profile.at(96).kind, LayerKind::kHead);
  const LayerProfile moe = ProfileFor(TextJob("deepseek-v3-671b", "h100-sxm-80gb", 8));
  EXPECT_EQ(moe.at(3).kind, LayerKind::kDense);
  EXPECT_EQ(moe.at(4).kind, LayerKind::kMoe);
}

// Measured with BAR: recomputing a layer instead of keeping it saves 0.522 and 0.500 GB.
TEST(LayerProfileTest, InternVitLayerKeepsWhatOmniBalMeasured) {
  const LayerProfile profile = ProfileFor(QuickstartJob(), {2, 4, 4});
  const LayerCost& layer = Kind(profile, LayerKind::kEncoder);
  const RecomputeMode &nothing = layer.modes.front(), &everything = layer.modes.back();
  const double saved = static_cast<double>(nothing.kept_bytes - everything.kept_bytes) * 1e-9;
  EXPECT_GE(saved, 0.49);
  EXPECT_LE(saved, 0.53);
  EXPECT_EQ(everything.kept_bytes, std::llround(9.0 * 1025 * 3200 * 2 / 2));
}

// A single head, whose scores Megatron's fused softmax does not take: 4 bytes of the fp32 softmax
// and 2 of its copy, with dropout also a mask of one byte.
TEST(LayerProfileTest, SoftmaxInFp32KeepsItsResult) {
  Job job = TextJob("megatron-22b", "a100-sxm-80gb", 8);
  LanguageModel& m = job.model.language_model;
  Execution& e = job.training.execution;
  e.attention = AttentionKernel::kUnfused;
  for (const auto& [dropout, fused, plain] : {std::tuple{false, 2, 6}, {true, 5, 7}}) {
    e.dropout = dropout;
    const auto kept = [&](int64_t heads) {
      m.heads = m.kv_heads = heads;
      return Kept(job, {1, 1, 8});
    };
    // Rows grow with heads as usual; scores do not.
    const double square = kProfilePack.squared;
    const double rows = static_cast<double>(kept(8) - kept(4)) - 4.0 * fused * square;
    EXPECT_NEAR(kept(6) - kept(4) - rows / 2, (6.0 * plain - 4.0 * fused) * square, 8) << dropout;
  }
}

// Korthikanti 2022, table 2: bytes per layer of 16-bit training with dropout masks and with stored
// scores, on t ranks, with and without sequence parallel.
TEST(LayerProfileTest, PlainLayerKeepsWhatKorthikantiCounts) {
  Job job = TextJob("megatron-22b", "a100-sxm-80gb", 8);
  const LanguageModel& m = job.model.language_model;
  ASSERT_EQ(m.ffn, 4 * m.hidden);
  Execution& e = job.training.execution;
  e.dropout = true;
  e.attention = AttentionKernel::kUnfused;
  const double sbh = kProfilePack.tokens * static_cast<double>(m.hidden);
  const double scores = 5 * static_cast<double>(m.heads) * kProfilePack.squared;
  for (const int64_t t : {1, 8}) {
    const double ranks = static_cast<double>(t);
    e.sequence_parallel = true;
    EXPECT_NEAR(Kept(job, {t, 1, 1}), 34 * sbh / ranks + scores / ranks, 2) << t;
    e.sequence_parallel = false;
    EXPECT_NEAR(Kept(job, {t, 1, 1}), (10 + 24 / ranks) * sbh + scores / ranks, 2) << t;
  }
  // Flash attention keeps one fp32 value per row and head instead. Without dropout, there are no
  // masks.
  e.attention = AttentionKernel::kFlash;
  e.dropout = false;
  e.sequence_parallel = true;
  EXPECT_NEAR(Kept(job, {1, 1, 1}),
              32 * sbh + 4 * static_cast<double>(m.heads) * kProfilePack.tokens, 2);
}

TEST(LayerProfileTest, FrozenEncoderKeepsNothingAndHasNoBackward) {
  Job job = QuickstartJob();
  job.model.towers[0].encoder.train = TrainMode::kFrozen;
  const LayerProfile profile = ProfileFor(job);
  for (const LayerKind kind : {LayerKind::kPatchEmbedding, LayerKind::kEncoder}) {
    const LayerCost& layer = Kind(profile, kind);
    EXPECT_GT(layer.forward_ns, 0);
    EXPECT_EQ(layer.backward_ns, 0);
    EXPECT_EQ(layer.gradient_bytes + layer.optimizer_bytes, 0);
    EXPECT_EQ(layer.modes.front().kept_bytes, 0);
    EXPECT_EQ(layer.modes.front().workspace_bytes, profile.buffer_bytes);
    EXPECT_GT(layer.weight_bytes, 0);
    EXPECT_FALSE(layer.recomputable());
  }
  // The projector trains, but its input needs no gradient.
  EXPECT_EQ(Kind(profile, LayerKind::kProjector).backward_flops_ratio, 1);
  EXPECT_GT(Kind(profile, LayerKind::kProjector).modes.front().kept_bytes, 0);
}

TEST(LayerProfileTest, FrozenLanguageModelBehindATrainableProjectorStillRunsBackward) {
  Job job = QuickstartJob();
  job.model.towers[0].encoder.train = TrainMode::kFrozen;
  job.model.language_model.train = TrainMode::kFrozen;
  const LayerProfile profile = ProfileFor(job);
  const LayerCost& dense = Kind(profile, LayerKind::kDense);
  EXPECT_GT(dense.backward_ns, 0);
  EXPECT_EQ(dense.backward_flops_ratio, 1);
  EXPECT_LT(dense.backward_ns, Kind(ProfileFor(QuickstartJob()), LayerKind::kDense).backward_ns);
  EXPECT_EQ(dense.gradient_bytes + dense.optimizer_bytes, 0);
  EXPECT_GT(dense.modes.front().kept_bytes, 0);
  // Without a weight gradient, the inputs of products are not kept.
  EXPECT_LT(dense.modes.front().kept_bytes,
            Kind(ProfileFor(QuickstartJob()), LayerKind::kDense).modes.front().kept_bytes);
  EXPECT_TRUE(dense.recomputable());
}

TEST(LayerProfileTest, NothingTrainsNothingRunsBackward) {
  Job job = QuickstartJob();
  job.model.towers[0].encoder.train = TrainMode::kFrozen;
  job.model.towers[0].projector.train = TrainMode::kFrozen;
  job.model.language_model.train = TrainMode::kFrozen;
  const LayerProfile profile = ProfileFor(job);
  for (const LayerCost& layer : profile.classes) {
    EXPECT_EQ(layer.backward_ns, 0);
    EXPECT_EQ(layer.modes.front().kept_bytes, 0);
  }
}

TEST(LayerProfileTest, OptimizerStateIsShardedOnlyWithZero) {
  Job job = QuickstartJob();
  const LayerProfile sharded = ProfileFor(job, {2, 4, 4});
  job.training.zero_stage = ZeroStage::kNone;
  const LayerProfile whole = ProfileFor(job, {2, 4, 4});
  for (size_t k = 0; k < whole.classes.size(); ++k) {
    EXPECT_EQ(whole.classes[k].optimizer_bytes, 12 * whole.classes[k].parameters);
    EXPECT_EQ(sharded.classes[k].optimizer_bytes, 3 * sharded.classes[k].parameters);
    EXPECT_EQ(whole.classes[k].gradient_bytes, 4 * whole.classes[k].parameters);
  }
}

TEST(LayerProfileTest, TensorParallelMustDivideHeads) {
  const ModelSpec model = QuickstartJob().model;  // 48 heads, 8 for keys and values
  for (const int64_t t : {1, 2, 4, 8, 16}) EXPECT_TRUE(TensorParallelAllowed(model, t)) << t;
  for (const int64_t t : {5, 7, 32}) EXPECT_FALSE(TensorParallelAllowed(model, t)) << t;
}

TEST(LayerProfileTest, ModelFlopsDoNotDependOnTensorParallel) {
  const Job job = QuickstartJob();
  const LayerProfile one = ProfileFor(job), eight = ProfileFor(job, {8, 1, 4});
  for (size_t k = 0; k < one.classes.size(); ++k) {
    EXPECT_DOUBLE_EQ(one.classes[k].forward_flops.at(kProfilePack),
                     eight.classes[k].forward_flops.at(kProfilePack));
  }
}

// A language model takes 6 FLOPs per parameter and token, except embeddings, plus attention.
TEST(LayerProfileTest, FlopsOfALanguageModelAreAboutTwicePerParameter) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const LayerProfile profile = ProfileFor(job);
  double flops = 0;
  for (int64_t i = 0; i < profile.size(); ++i)
    flops += profile.at(i).forward_flops.at(kProfilePack);
  const LanguageModel& m = job.model.language_model;
  const double without_table =
      static_cast<double>(CountParameters(m) - m.vocab * m.hidden - (2 * m.layers + 1) * m.hidden);
  const double attention = static_cast<double>(m.layers * m.heads * 2 * 128) * kProfilePack.squared;
  EXPECT_NEAR(flops, 2 * without_table * kProfilePack.tokens + attention, 1e-9 * flops);
}

// Returns the costs of a layer for a host time per operation.
LayerCost WithHostTime(LayerKind kind, int64_t tensor, double host_launch_ns) {
  const bool moe = kind == LayerKind::kMoe;
  Job job = TextJob(moe ? "mixtral-8x7b" : "llama3.2-3b", "h100-sxm-80gb", 8);
  job.training.execution.host_launch_ns = host_launch_ns;
  return Kind(ProfileFor(job, {.tensor = tensor, .data = 8 / tensor}), kind);
}

double Forward(const LayerCost& layer) {
  return layer.forward.at(kProfilePack) + layer.forward_communication.at(kProfilePack);
}

TEST(LayerProfileTest, HostTimeBoundsALayerThatTheDeviceRunsFaster) {
  const double device = Forward(WithHostTime(LayerKind::kDense, 8, 0));
  const double bound = Forward(WithHostTime(LayerKind::kDense, 8, 1e7));
  EXPECT_GT(bound, 1e8);  // more than ten operations
  // The backward pass launches twice as many operations, whatever the device does.
  EXPECT_NEAR(WithHostTime(LayerKind::kDense, 8, 1e7).backward.at(kProfilePack) / bound, 2, 0.01);
  // The result is the longer time if they differ, and a little more than that if they are similar.
  EXPECT_NEAR(Forward(WithHostTime(LayerKind::kDense, 8, device * 1e7 / bound / 4)) / device, 1,
              0.002);
  EXPECT_NEAR(Forward(WithHostTime(LayerKind::kDense, 8, device * 1e7 / bound)) / device, 1.189,
              0.001);
}

// Returns the launches of a dense layer's forward pass over two tensor-parallel ranks.
double Launches(bool sequence_parallel, int64_t per_collective, bool fused = true) {
  constexpr double kLaunchNs = 1e8;  // far above all other times
  Job job = TextJob("llama3.2-3b", "h100-sxm-80gb", 8);
  Execution& execution = job.training.execution;
  execution.host_launch_ns = kLaunchNs;
  execution.sequence_parallel = sequence_parallel;
  execution.collective_launches = per_collective;
  execution.fused_kernels = fused;
  return Forward(Kind(ProfileFor(job, {.tensor = 2, .data = 4}), LayerKind::kDense)) / kLaunchNs;
}

TEST(LayerProfileTest, ACollectiveCountsAsSeveralLaunches) {
  // With sequence parallelism, two gathers and two scatters; otherwise two all-reduces.
  EXPECT_NEAR(Launches(true, 3) - Launches(true, 0), 4 * 3, 1e-3);
  EXPECT_NEAR(Launches(false, 3) - Launches(false, 0), 2 * 3, 1e-3);
  EXPECT_NEAR(Launches(true, 12, /*fused=*/false) - Launches(true, 0, false), 4 * 12, 1e-3);
  EXPECT_EQ(Launches(true, 12), Launches(true, 3)) << "torch.compile traces DTensor away";
}

TEST(LayerProfileTest, ATrainersKernelsScaleComputeAlone) {
  Job job = TextJob("llama3.2-3b", "h100-sxm-80gb", 8);
  job.training.execution.host_launch_ns = 0;
  const Parallelism p{.tensor = 8, .data = 1};
  const LayerCost full = Kind(ProfileFor(job, p), LayerKind::kDense);
  job.training.execution.kernel_rate = 0.5;
  const LayerCost half = Kind(ProfileFor(job, p), LayerKind::kDense);
  EXPECT_NEAR(half.forward.at(kProfilePack) / full.forward.at(kProfilePack), 2, 1e-9);
  EXPECT_NEAR(half.backward.at(kProfilePack) / full.backward.at(kProfilePack), 2, 1e-9);
  EXPECT_EQ(half.forward_communication.at(kProfilePack),
            full.forward_communication.at(kProfilePack));
  EXPECT_EQ(half.forward_flops.at(kProfilePack), full.forward_flops.at(kProfilePack));
}

TEST(LayerProfileTest, HooksOfTrainedWeightsLengthenTheBackwardPass) {
  Job job = TextJob("llama3.2-3b", "h100-sxm-80gb", 8);
  const Parallelism p{.tensor = 1, .data = 8};
  const LayerCost before = Kind(ProfileFor(job, p), LayerKind::kDense);
  job.training.execution.weight_hook_ns = 1e8;  // far above all other times
  const LayerCost hooked = Kind(ProfileFor(job, p), LayerKind::kDense);
  // Five products with weights (gate and up are one) and two norms.
  EXPECT_NEAR(hooked.backward.at(kProfilePack) / 1e8, 6, 0.1);
  EXPECT_EQ(hooked.forward.at(kProfilePack), before.forward.at(kProfilePack));
  job.model.language_model.train = TrainMode::kFrozen;
  const LayerCost frozen = Kind(ProfileFor(job, p), LayerKind::kDense);
  EXPECT_LT(frozen.backward.at(kProfilePack), 1e8);
}

TEST(LayerProfileTest, AdaptersCostMoreThanTheirProducts) {
  Job job = TextJob("llama3.2-3b", "a100-sxm-80gb", 8);
  LanguageModel& m = job.model.language_model;
  m.train = TrainMode::kLora;
  m.lora = {.rank = 1, .targets = kLoraMlpDown};
  job.training.execution.host_launch_ns = 0;
  const Parallelism p{.tensor = 1, .data = 8};
  const double with = Kind(ProfileFor(job, p), LayerKind::kDense).forward.at(kProfilePack);
  m.lora.targets = 0;
  const double without = Kind(ProfileFor(job, p), LayerKind::kDense).forward.at(kProfilePack);
  // Five bytes of each input value and ten of each output value.
  const double bytes =
      kProfilePack.tokens * (5 * static_cast<double>(m.ffn) + 10 * static_cast<double>(m.hidden));
  EXPECT_GT(with - without, bytes / job.cluster.gpu.hbm_bytes_per_second * 1e9);
}

TEST(LayerProfileTest, TheHostOfARouterWaitsForTheDevice) {
  const double device = Forward(WithHostTime(LayerKind::kMoe, 1, 0));
  const double host = Forward(WithHostTime(LayerKind::kMoe, 1, 1e6)) - device;
  EXPECT_GT(host, 4e7);  // more than forty operations
  EXPECT_NEAR(Forward(WithHostTime(LayerKind::kMoe, 1, 2e6)), device + 2 * host, 1);
}

}  // namespace
}  // namespace evenkeel::planner
