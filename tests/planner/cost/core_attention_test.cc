// Core attention as an operation of a layer: its time follows the mean pack, its memory the
// largest.
#include <gtest/gtest.h>

#include <vector>

#include "planner/cost/transformer_layer.h"
#include "planner/trainer/precision.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kHeads = 32, kSize = 128;
constexpr double kLength = 8192;
constexpr PackShape kOneSample{.tokens = kLength, .squared = kLength * kLength};

// One core attention on one GPU, and the setting in which it runs.
struct AttentionCase {
  const char* gpu = "a100-sxm-80gb";
  const char* trainer = "megatron-core";
  Execution execution = {};
  Parallelism parallelism = {};
  int64_t head_ranks = 1;
  PackShape mean = kOneSample, largest = kOneSample;
  bool equal_packs = true;
  int64_t sequence = 0, window = 0;
};

LayerOperation CoreOf(const AttentionCase& c) {
  const Cluster cluster = ClusterOf(c.gpu, 8);
  const KernelTime kernels(cluster.gpu);
  const Network network(cluster, {});
  const Dataset dataset;
  const RankSetting setting{.kernels = kernels,
                            .network = network,
                            .cluster = cluster,
                            .execution = c.execution,
                            .parallelism = c.parallelism,
                            .dataset = dataset,
                            .recipe = RecipeOf(Precision::k16Bit),
                            .mean = c.mean,
                            .largest = c.largest,
                            .equal_packs = c.equal_packs,
                            .head_ranks = c.head_ranks,
                            .softmax = SoftmaxOf(*FindTrainer(c.trainer)),
                            .transformer_engine = FindTrainer(c.trainer)->megatron_kernels};
  LayerBuilder builder(setting, TokenRows(c.parallelism), TrainMode::kFull, {});
  AddCoreAttention(builder,
                   {.heads = kHeads,
                    .kv_heads = kHeads,
                    .rank = {kHeads, kHeads, kSize, kSize},
                    .sequence = c.sequence,
                    .kind = c.window > 0 ? AttentionKind::kWindow : AttentionKind::kFull,
                    .window = c.window},
                   0);
  return builder.operation();
}

AttentionCase Deterministic(AttentionCase c) {
  c.execution.deterministic = true;
  return c;
}

// Returns the bytes that the deterministic mode holds more.
double MoreHeld(const AttentionCase& c) {
  return CoreOf(Deterministic(c)).transient.at(c.largest) - CoreOf(c).transient.at(c.largest);
}

double MoreTime(const AttentionCase& c) {
  return CoreOf(Deterministic(c)).attention_gradients.at(c.mean) -
         CoreOf(c).attention_gradients.at(c.mean);
}

// Bytes of one copy of the queries' gradients in fp32, of a rank of `c`.
double CopyOf(const AttentionCase& c, double tokens) {
  return 4 * kHeads * kSize * tokens / static_cast<double>(c.parallelism.context);
}

// Eight ranks with four heads each: 27 groups of thread blocks for 108 processors, in one full
// wave. With 32 heads, as on a ring, there are four groups, in two waves.
TEST(CoreAttentionTest, RanksThatExchangeHeadsHaveFewSequences) {
  AttentionCase c{.parallelism = {.context = 8}, .head_ranks = 8};
  EXPECT_NEAR(MoreHeld(c), 26 * CopyOf(c, kLength), 1);
  const double bytes = 2 * 26 * CopyOf(c, kLength);
  const KernelTime kernels(FindGpu(c.gpu)->spec);
  EXPECT_NEAR(MoreTime(c), kernels.MemoryBound(1).per_row * bytes, 1);
  c.execution.context = ContextKind::kRing;
  c.head_ranks = 1;
  EXPECT_NEAR(MoreHeld(c), 3 * CopyOf(c, kLength), 1);
}

// The mean pack has 27 samples, which fill 8 waves and need one copy. The largest has one sample.
TEST(CoreAttentionTest, MemoryHoldsTheCopiesOfTheLargestPack) {
  AttentionCase c{.mean = {.tokens = kLength, .squared = kLength * kLength / 27},
                  .equal_packs = false};
  EXPECT_NEAR(MoreHeld(c), 3 * CopyOf(c, kLength), 1);
  EXPECT_NEAR(MoreTime(c), 0, 1);
  // Full sequences: one of 2048 rows and 32 heads needs four copies, two need two.
  c.sequence = 2048;
  c.mean = c.largest = {.tokens = 2048, .squared = 2048.0 * 2048};
  EXPECT_NEAR(MoreHeld(c), 3 * CopyOf(c, 2048), 1);
  c.largest = {.tokens = 4096, .squared = 2 * 2048.0 * 2048};
  EXPECT_NEAR(MoreHeld(c), 1 * CopyOf(c, 4096), 1);
}

// A pack of 12,288 tokens has a sample of 8192 and another, whose heads fill half of the
// processors, or that sample alone, in four copies.
TEST(CoreAttentionTest, ASmallerPackMayHoldMore) {
  constexpr double kCap = 12'288;
  const AttentionCase c{.largest = {.tokens = kCap, .squared = kCap * kLength}};
  EXPECT_NEAR(MoreHeld(c), 4 * CopyOf(c, kLength) - CopyOf(c, kCap), 1);
}

// cuDNN stores 2 bytes for each pair that is seen, and reads them.
TEST(CoreAttentionTest, AWindowHasFewerPairs) {
  const AttentionCase all{.gpu = "h100-sxm-80gb"};
  AttentionCase windowed = all;
  windowed.window = 1024;
  const double seen = 1024 * (2 * kLength - 1024) / (kLength * kLength);
  EXPECT_NEAR(MoreTime(windowed) / MoreTime(all), seen, 1e-6);
}

TEST(CoreAttentionTest, ARingHoldsThePairsOfOneStep) {
  const double pairs = 2 * kHeads * kLength * kLength;  // bytes, on one GPU
  AttentionCase c{.gpu = "h100-sxm-80gb"};
  EXPECT_NEAR(MoreHeld(c), pairs, 1);
  c.parallelism.context = 4;
  c.execution.context = ContextKind::kRing;
  EXPECT_NEAR(MoreHeld(c), pairs / 16, 1);
  // A group of two exchanges heads, and two groups are a ring.
  c.execution.context = ContextKind::kHierarchical;
  c.head_ranks = 2;
  EXPECT_NEAR(MoreHeld(c), pairs / 8, 1);
  c.execution.context = ContextKind::kUlysses;
  c.head_ranks = 4;
  EXPECT_NEAR(MoreHeld(c), pairs / 4, 1);
  c.execution.context = ContextKind::kAllGather;
  c.head_ranks = 1;
  EXPECT_NEAR(MoreHeld(c), pairs / 4, 1);
}

constexpr double kScores = kHeads * kLength * kLength;

LayerOperation Unfused(const char* trainer) {
  return CoreOf({.trainer = trainer, .execution = {.attention = AttentionKernel::kUnfused}});
}

// Megatron's softmax reads half of the scores. PyTorch's is several kernels.
TEST(CoreAttentionTest, OnlyMegatronsSoftmaxIsFused) {
  const auto times = [](const char* trainer) {
    const LayerOperation op = Unfused(trainer);
    return op.attention.at(kOneSample) + op.attention_gradients.at(kOneSample);
  };
  const KernelTime kernels(FindGpu("a100-sxm-80gb")->spec);
  EXPECT_NEAR((times("llm-foundry") - times("megatron-core")) /
                  (kernels.MemoryBound((28 + 28) - (3 + 4)).per_row * kScores),
              1, 1e-3);
  EXPECT_EQ(times("llm-foundry"), times("huggingface-trainer"));
  EXPECT_EQ(times("megatron-deepspeed"), times("megatron-core"));
  EXPECT_EQ(times("fsdp"), times("megatron-core"));
  EXPECT_GT(times("internevo"), times("megatron-core"));
  EXPECT_LT(times("generic"), times("torchtitan"));  // a trainer without a record may fuse it
  EXPECT_EQ(Unfused("torchtitan").launches, Unfused("megatron-core").launches + 4);
}

TEST(CoreAttentionTest, PyTorchsSoftmaxKeepsItsFp32Result) {
  const auto kept = [](const char* trainer) {
    double bytes = 0;
    for (const KeptTensor& tensor : Unfused(trainer).kept) bytes += tensor.bytes.at(kOneSample);
    return bytes;
  };
  const auto held = [](const char* trainer) { return Unfused(trainer).transient.at(kOneSample); };
  for (const char* trainer : {"torchtitan", "huggingface-trainer", "generic"}) {
    EXPECT_NEAR(kept(trainer) - kept("megatron-core"), (6 - 2) * kScores, 1) << trainer;
    EXPECT_NEAR(held(trainer) - held("megatron-core"), (8 - 4) * kScores, 1) << trainer;
  }
}

}  // namespace
}  // namespace evenkeel::planner
