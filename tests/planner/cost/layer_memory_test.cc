// Memory of layers under sharding, frozen parts and experts.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kMemoryPack{.units = 0, .tokens = 4096, .squared = 4096.0 * 4096};

LayerCost KindOf(const Job& job, const Parallelism& p, LayerKind kind,
                 const std::vector<RecomputeParts>& also = {}) {
  for (const LayerCost& layer : BuildLayerProfile(job, p, kMemoryPack, kMemoryPack, also).classes) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no layer of that kind";
  return {};
}

Job Llama() { return TextJob("llama3-8b", "h100-sxm-80gb", 32); }
Job DeepSeek() { return TextJob("deepseek-v3-671b", "h100-sxm-80gb", 64); }

TEST(LayerMemoryTest, ZeroStagesShardOneAfterAnother) {
  Job job = Llama();
  const Parallelism p{.tensor = 1, .pipeline = 1, .data = 4, .context = 2};
  const double parameters = static_cast<double>(KindOf(job, p, LayerKind::kDense).parameters);
  const double bytes[][3] = {{2, 4, 12}, {2, 4, 1.5}, {2, 0.5, 1.5}, {0.25, 0.5, 1.5}};
  for (const ZeroStage zero :
       {ZeroStage::kNone, ZeroStage::kOptimizer, ZeroStage::kGradients, ZeroStage::kWeights}) {
    job.training.zero_stage = zero;
    const LayerCost layer = KindOf(job, p, LayerKind::kDense);
    const double* want = bytes[static_cast<size_t>(zero)];
    EXPECT_NEAR(static_cast<double>(layer.weight_bytes), want[0] * parameters, 1);
    EXPECT_NEAR(static_cast<double>(layer.gradient_bytes), want[1] * parameters, 1);
    EXPECT_NEAR(static_cast<double>(layer.optimizer_bytes), want[2] * parameters, 1);
  }
}

TEST(LayerMemoryTest, GroupsThatShareTheStatesHaveThemAgain) {
  Job job = Llama();
  const Parallelism p{.tensor = 1, .pipeline = 1, .data = 12, .context = 2};
  const auto state = [&](int64_t group) {
    job.training.zero_group = group;
    const LayerCost layer = KindOf(job, p, LayerKind::kDense);
    return static_cast<double>(layer.optimizer_bytes) / static_cast<double>(layer.parameters);
  };
  EXPECT_NEAR(state(0), 12.0 / 24, 1e-6);
  EXPECT_NEAR(state(8), 12.0 / 8, 1e-6);
  EXPECT_NEAR(state(7), 12.0 / 6, 1e-6);  // 7 does not divide 24
  EXPECT_NEAR(state(1), 12.0, 1e-6);
  EXPECT_NEAR(state(100), 12.0 / 24, 1e-6);
}

TEST(LayerMemoryTest, ZeroThreeHoldsTwoLayersWholeAndGathersThem) {
  Job job = Llama();
  job.cluster.inter_node_bytes_per_second = 1e9;  // so slow that it cannot be hidden
  const Parallelism p{.tensor = 1, .pipeline = 1, .data = 32};
  const LayerCost before = KindOf(job, p, LayerKind::kDense);
  job.training.zero_stage = ZeroStage::kWeights;
  const LayerCost after = KindOf(job, p, LayerKind::kDense);
  EXPECT_EQ(after.modes.front().workspace_bytes - before.modes.front().workspace_bytes,
            2 * 3 * before.parameters);
  EXPECT_GT(after.forward_communication.constant, 0);
  EXPECT_GT(after.backward_communication.constant, after.forward_communication.constant);
  EXPECT_GT(after.forward_ns, before.forward_ns);
}

TEST(LayerMemoryTest, ContextParallelSharesTokens) {
  const Job job = Llama();
  const LayerCost one = KindOf(job, {1, 1, 32}, LayerKind::kDense);
  const Parallelism four{.tensor = 1, .pipeline = 1, .data = 8, .context = 4};
  const LayerCost ulysses = KindOf(job, four, LayerKind::kDense);
  Job ring_job = job;
  ring_job.training.execution.context = ContextKind::kRing;
  const LayerCost ring = KindOf(ring_job, four, LayerKind::kDense);
  EXPECT_NEAR(static_cast<double>(ring.modes.front().kept_bytes),
              static_cast<double>(one.modes.front().kept_bytes) / 4, 1);
  // Ulysses keeps the attention's output on both sides of the exchange.
  const LanguageModel& m = job.model.language_model;
  EXPECT_EQ(ulysses.modes.front().kept_bytes - ring.modes.front().kept_bytes,
            2 * m.heads * m.head_dim * 1024);
  EXPECT_EQ(ulysses.parameters, one.parameters);
  EXPECT_DOUBLE_EQ(ulysses.forward_flops.at(kMemoryPack), one.forward_flops.at(kMemoryPack));
  EXPECT_GT(ulysses.forward_communication.at(kMemoryPack), 0);
}

TEST(LayerMemoryTest, AnAllGatherHoldsAllKeysAndValues) {
  Job job = Llama();
  const Parallelism wide{.tensor = 1, .pipeline = 1, .data = 1, .context = 32};
  const auto under = [&](ContextKind kind) {
    job.training.execution.context = kind;
    return KindOf(job, wide, LayerKind::kDense);
  };
  const LayerCost ring = under(ContextKind::kRing), all = under(ContextKind::kAllGather);
  EXPECT_EQ(all.modes.front().kept_bytes, ring.modes.front().kept_bytes);
  // The keys and values of the 31 others, and their gradients, in 16 bits: more than the MLP holds.
  const LanguageModel& m = job.model.language_model;
  const int64_t others = 2 * 2 * 31 * (2 * m.kv_heads * m.head_dim) * 128;
  const int64_t more = all.modes.front().workspace_bytes - ring.modes.front().workspace_bytes;
  EXPECT_GT(more, others / 3);  // the MLP, which held most under the ring, hides the rest
  EXPECT_LE(more, others);
  // Nothing hides the gathering, which the backward pass repeats before it reduces gradients.
  const double gather = all.forward_communication.at(kMemoryPack);
  EXPECT_GT(gather, ring.forward_communication.at(kMemoryPack));
  EXPECT_NEAR(all.backward_communication.at(kMemoryPack), 2 * gather, 1e-6 * gather);
}

// One sample of 4096 tokens and 4 of 32 heads: FlashAttention-2 has 27 groups on 108 processors,
// cuDNN a 16-bit gradient for each pair of tokens. The MLP, which holds most without them, hides
// some.
TEST(LayerMemoryTest, DeterministicBackwardPassesHoldMore) {
  for (const auto& [gpu, bytes] : {std::pair("a100-sxm-80gb", 26 * 4 * 4096.0 * 512),
                                   std::pair("h100-sxm-80gb", 2 * 4 * 4096.0 * 4096)}) {
    Job job = TextJob("llama3-8b", gpu, 32);
    const auto workspace = [&](bool deterministic) {
      job.training.execution.deterministic = deterministic;
      return D(KindOf(job, {.tensor = 8}, LayerKind::kDense).modes.front().workspace_bytes);
    };
    const double more = workspace(true) - workspace(false);
    EXPECT_LE(more, bytes) << gpu;
    EXPECT_GT(more, bytes / 10) << gpu;
  }
}

TEST(LayerMemoryTest, HierarchicalContextIsUlyssesInsideAndARingAcross) {
  Job job = Llama();
  const auto under = [&](ContextKind kind, int64_t context) {
    job.training.execution.context = kind;
    return KindOf(job, {.tensor = 1, .pipeline = 1, .data = 32 / context, .context = context},
                  LayerKind::kDense);
  };
  const auto same = [](const LayerCost& a, const LayerCost& b) {
    return a.forward.at(kMemoryPack) == b.forward.at(kMemoryPack) &&
           a.forward_communication.at(kMemoryPack) == b.forward_communication.at(kMemoryPack) &&
           a.backward_communication.at(kMemoryPack) == b.backward_communication.at(kMemoryPack) &&
           a.modes.front().kept_bytes == b.modes.front().kept_bytes &&
           a.modes.front().workspace_bytes == b.modes.front().workspace_bytes;
  };
  // All in one node.
  EXPECT_TRUE(same(under(ContextKind::kHierarchical, 8), under(ContextKind::kUlysses, 8)));
  // Nodes of one rank of each group.
  const Cluster nodes = job.cluster;
  job.cluster.gpus_per_node = job.cluster.gpus_per_full_node = 1;
  EXPECT_TRUE(same(under(ContextKind::kHierarchical, 8), under(ContextKind::kRing, 8)));
  job.cluster = nodes;
  // Four nodes: heads are exchanged over the link inside, so less crosses nodes than with either.
  job.cluster.inter_node_bytes_per_second = 1e9;
  const LayerCost both = under(ContextKind::kHierarchical, 32);
  EXPECT_LT(both.forward_communication.at(kMemoryPack),
            under(ContextKind::kUlysses, 32).forward_communication.at(kMemoryPack));
  EXPECT_LT(both.forward_communication.at(kMemoryPack),
            under(ContextKind::kRing, 32).forward_communication.at(kMemoryPack));
}

TEST(LayerMemoryTest, ExpertParallelSharesExpertsAndTheirCopies) {
  const Job job = DeepSeek();
  const Parallelism whole{1, 1, 64};
  Parallelism shared = whole;
  shared.expert = 8;
  const LayerCost one = KindOf(job, whole, LayerKind::kMoe);
  const LayerCost eight = KindOf(job, shared, LayerKind::kMoe);
  const MoeSpec& moe = *job.model.language_model.moe;
  const int64_t experts = moe.experts * 3 * job.model.language_model.hidden * moe.expert_ffn;
  EXPECT_EQ(one.trained_expert_parameters, experts);
  EXPECT_EQ(eight.trained_expert_parameters, experts / 8);
  EXPECT_EQ(one.parameters - eight.parameters, experts - experts / 8);
  // The optimizer state of experts is shared by 64 / 8 ranks, that of the rest by 64.
  EXPECT_EQ(ExpertCopies(job.training, shared), 8);
  const double rest = static_cast<double>(eight.parameters - eight.trained_expert_parameters);
  EXPECT_NEAR(static_cast<double>(eight.optimizer_bytes),
              12 * rest / 64 + 12 * static_cast<double>(experts) / 8 / 8, 2);
  // Each rank works on the same number of rows, so kept tensors do not change; the exchange costs
  // time.
  EXPECT_EQ(one.modes.front().kept_bytes, eight.modes.front().kept_bytes);
  EXPECT_EQ(one.forward_communication.at(kMemoryPack), 0);
  EXPECT_GT(eight.forward_communication.at(kMemoryPack), 0);
}

TEST(LayerMemoryTest, CapacityHoldsFewerRowsThanADroplessRouter) {
  Job job = DeepSeek();
  const Parallelism p{.tensor = 1, .pipeline = 1, .data = 64, .expert = 8};
  const int64_t dropless = KindOf(job, p, LayerKind::kMoe).modes.front().kept_bytes;
  job.training.execution.expert_capacity = 1;
  EXPECT_LT(KindOf(job, p, LayerKind::kMoe).modes.front().kept_bytes, dropless);
}

TEST(LayerMemoryTest, LatentProjectionsCanBeRecomputed) {
  const Job job = DeepSeek();
  const LayerCost layer = KindOf(job, {8, 1, 8}, LayerKind::kDense, {kLatentProjection});
  for (const RecomputeMode& mode : layer.modes) {
    if (mode.parts != kLatentProjection) continue;
    // Kept are q, k and v of 16 heads, and the sharded normalised copies of the latents.
    const MlaSpec& mla = *job.model.language_model.mla;
    const int64_t heads = 16 * (2 * (mla.qk_nope_dim + mla.qk_rope_dim) + mla.v_dim);
    const int64_t latents = (mla.q_lora_rank + mla.kv_lora_rank) / 8;
    EXPECT_EQ(layer.modes.front().kept_bytes - mode.kept_bytes, 2 * 4096 * (heads + latents));
    return;
  }
  ADD_FAILURE() << "no such mode";
}

TEST(LayerMemoryTest, LoraTrainsAdaptersAlone) {
  Job job = Llama();
  LanguageModel& m = job.model.language_model;
  const Parallelism p{1, 1, 32};
  const LayerCost full = KindOf(job, p, LayerKind::kDense);
  m.train = TrainMode::kFrozen;
  const LayerCost frozen = KindOf(job, p, LayerKind::kDense);
  m.train = TrainMode::kLora;
  m.lora = {.rank = 8, .targets = kLoraQkv | kLoraMlpDown};
  const LayerCost lora = KindOf(job, p, LayerKind::kDense);
  const int64_t qkv = (m.heads + 2 * m.kv_heads) * m.head_dim;
  const int64_t adapters = 8 * (m.hidden + qkv) + 8 * (m.ffn + m.hidden);
  EXPECT_EQ(lora.trained_parameters, adapters);
  EXPECT_EQ(lora.parameters, full.parameters + adapters);
  EXPECT_EQ(lora.gradient_bytes, 4 * adapters);
  EXPECT_EQ(lora.weight_bytes, 2 * lora.parameters);
  EXPECT_TRUE(lora.trains && lora.has_backward);
  EXPECT_FALSE(frozen.has_backward);
  EXPECT_LT(lora.modes.front().kept_bytes, full.modes.front().kept_bytes);
  EXPECT_LT(lora.backward_ns, full.backward_ns);
  EXPECT_GT(lora.forward_ns, full.forward_ns);
  EXPECT_EQ(lora.backward_flops_ratio, 1);
  // Embedding and head stay frozen.
  EXPECT_EQ(KindOf(job, p, LayerKind::kHead).trained_parameters, 0);
}

// PEFT's modules on PyTorch's own kernels. With dropout, each of the seven adapters of a layer
// keeps a copy of its input in 16 bits and a mask of a byte, instead of the inputs themselves
// (norms' outputs, attention's output, the product of gate and up projection).
TEST(LayerMemoryTest, AdaptersWithDropoutKeepDroppedCopies) {
  Job job = Llama();
  LanguageModel& m = job.model.language_model;
  m.train = TrainMode::kLora;
  job.training.execution.fused_kernels = false;
  const Parallelism p{1, 1, 32};
  const LayerCost without = KindOf(job, p, LayerKind::kDense);
  m.lora.dropout = true;
  const LayerCost with = KindOf(job, p, LayerKind::kDense);
  const double tokens = static_cast<double>(kMemoryPack.tokens);
  const double copies = 3.0 * static_cast<double>(6 * m.hidden + m.ffn);
  const double inputs = 2.0 * static_cast<double>(2 * m.hidden + m.ffn);
  EXPECT_NEAR(
      static_cast<double>(with.modes.front().kept_bytes - without.modes.front().kept_bytes) /
          (tokens * (copies - inputs)),
      1, 1e-3);
  EXPECT_GT(with.forward_ns, without.forward_ns);
  EXPECT_GT(with.backward_ns, without.backward_ns);
  const int64_t inputs_of_adapters = 6 * m.hidden + m.ffn;
  const int64_t outputs = 3 * m.hidden + 2 * m.kv_heads * m.head_dim + 2 * m.ffn;
  EXPECT_EQ(with.trained_parameters, m.lora.rank * (inputs_of_adapters + outputs));
  EXPECT_EQ(without.trained_parameters, with.trained_parameters);
}

// With sequence parallelism, copies are of a rank's own rows; recomputed MLPs keep none.
TEST(LayerMemoryTest, DroppedCopiesAreSharedAndRecomputedLikeTheirInputs) {
  Job job = Llama();
  LanguageModel& m = job.model.language_model;
  m.train = TrainMode::kLora;
  const Parallelism p{8, 1, 4};
  const auto kept = [&](bool dropout, RecomputeParts parts) {
    m.lora.dropout = dropout;
    for (const RecomputeMode& mode : KindOf(job, p, LayerKind::kDense, {parts}).modes)
      if (mode.parts == parts) return static_cast<double>(mode.kept_bytes);
    ADD_FAILURE() << "no such mode";
    return 0.0;
  };
  const double rows = static_cast<double>(kMemoryPack.tokens) / 8,
               h = static_cast<double>(m.hidden);
  EXPECT_NEAR((kept(true, 0) - kept(false, 0)) / rows, 5 * h + static_cast<double>(m.ffn), 16);
  EXPECT_NEAR((kept(true, kMlp) - kept(false, kMlp)) / rows, 4 * h, 16);
}

// The weight of a frozen norm needs no gradient, so its normalised rows are not kept.
TEST(LayerMemoryTest, FrozenNormsOfEagerModulesKeepTheirInputAlone) {
  Job job = Llama();
  LanguageModel& m = job.model.language_model;
  job.training.execution.fused_kernels = false;
  const Parallelism p{1, 1, 32};
  const LayerCost full = KindOf(job, p, LayerKind::kDense);
  m.train = TrainMode::kLora;
  m.lora.targets = kLoraQkv | kLoraAttentionOut | kLoraMlpUp | kLoraMlpDown;
  const LayerCost lora = KindOf(job, p, LayerKind::kDense);
  const double tokens = static_cast<double>(kMemoryPack.tokens);
  const double norms = 2 * 2.0 * static_cast<double>(m.hidden);
  const double adapters = 2.0 * 4 * static_cast<double>(m.lora.rank);
  EXPECT_NEAR(static_cast<double>(full.modes.front().kept_bytes - lora.modes.front().kept_bytes) /
                  (tokens * (norms - adapters)),
              1, 1e-2);
}

TEST(LayerMemoryTest, LossesDifferByTheirBytesPerLogit) {
  Job job = Llama();
  const double logits = 4096.0 * static_cast<double>(job.model.language_model.vocab);
  Execution& e = job.training.execution;
  const auto bytes = [&] {
    return static_cast<double>(KindOf(job, {1, 1, 32}, LayerKind::kHead).logits_bytes) / logits;
  };
  e.fused_loss = true;
  EXPECT_DOUBLE_EQ(bytes(), 2);
  e.fused_loss = false;
  EXPECT_DOUBLE_EQ(bytes(), 6);
  e.compiled_loss = true;
  EXPECT_DOUBLE_EQ(bytes(), 10);
  e.loss_bytes_per_logit = 14;
  EXPECT_DOUBLE_EQ(bytes(), 14);
  // Ranks that share the vocabulary hold more per logit of theirs.
  e.tensor_loss_bytes_per_logit = 4;
  EXPECT_DOUBLE_EQ(bytes(), 14);
  const LayerCost head = KindOf(job, {4, 1, 8}, LayerKind::kHead);
  EXPECT_DOUBLE_EQ(static_cast<double>(head.logits_bytes) / logits, 18. / 4);
}

// A loss in parts holds a part of the logits' gradient: the head's input and weight gradient stay.
TEST(LayerMemoryTest, ALossInPartsHoldsPartOfTheGradientToo) {
  Job job = Llama();
  job.training.execution.fused_loss = false;
  const double logits = 4096.0 * static_cast<double>(job.model.language_model.vocab);
  for (const double per_logit : {0.05, 1.0, 1.9}) {
    job.training.execution.loss_bytes_per_logit = per_logit;
    const LayerCost head = KindOf(job, {1, 1, 32}, LayerKind::kHead);
    EXPECT_NEAR(static_cast<double>(head.logits_bytes) / logits, per_logit, 1e-6);
  }
}

// The loss finds the head's weights, and those of the last layer, which are gathered next.
TEST(LayerMemoryTest, ShardedWeightsAreGatheredForTheHead) {
  Job job = Llama();
  job.training.execution.loss_bytes_per_logit = 14;  // so that the loss is the peak
  const Parallelism p{1, 1, 32};
  const auto workspace = [&](ZeroStage stage) {
    job.training.zero_stage = stage;
    return KindOf(job, p, LayerKind::kHead).modes.front().workspace_bytes;
  };
  const LanguageModel& m = job.model.language_model;
  const int64_t head = 2 * m.vocab * m.hidden;
  const int64_t layer = 2 * KindOf(job, p, LayerKind::kDense).parameters;
  EXPECT_EQ(workspace(ZeroStage::kWeights) - workspace(ZeroStage::kGradients), head + layer);
}

TEST(LayerMemoryTest, FsdpHoldsNoSecondCopyOfItsShards) {
  Job job = Llama();
  job.training.zero_stage = ZeroStage::kWeights;
  const Parallelism p{1, 1, 32};
  const LayerCost twice = KindOf(job, p, LayerKind::kDense);
  job.training.execution.casts_master_weights = true;
  const LayerCost once = KindOf(job, p, LayerKind::kDense);
  EXPECT_EQ(twice.weight_bytes, 2 * twice.parameters / 32);
  EXPECT_EQ(once.weight_bytes, 0);
  EXPECT_EQ(once.optimizer_bytes, twice.optimizer_bytes);
  // A frozen weight has no fp32 master.
  job.model.language_model.train = TrainMode::kFrozen;
  EXPECT_EQ(KindOf(job, p, LayerKind::kDense).weight_bytes, twice.weight_bytes);
}

// SHARD_GRAD_OP gathers whole weights beside the shards, which are the master weights where there
// are some.
TEST(LayerMemoryTest, FsdpHoldsShardsBesideWholeWeights) {
  Job job = Llama();
  job.training.zero_stage = ZeroStage::kGradients;
  job.training.execution.casts_master_weights = true;
  const Parallelism p{1, 1, 32};
  const LayerCost with_master = KindOf(job, p, LayerKind::kDense);
  EXPECT_EQ(with_master.weight_bytes, 2 * with_master.parameters);
  job.training.optimizer = Optimizer::kAdam16Bit;
  EXPECT_EQ(KindOf(job, p, LayerKind::kDense).weight_bytes,
            2 * with_master.parameters + 2 * with_master.parameters / 32);
  job.training.execution.casts_master_weights = false;
  EXPECT_EQ(KindOf(job, p, LayerKind::kDense).weight_bytes, 2 * with_master.parameters);
}

TEST(LayerMemoryTest, GatheredInputsAreKeptWhole) {
  Job job = Llama();
  const Parallelism p{.tensor = 4, .pipeline = 1, .data = 8};
  const int64_t shared = KindOf(job, p, LayerKind::kDense).modes.front().kept_bytes;
  job.training.execution.keeps_gathered_inputs = true;
  const int64_t whole = KindOf(job, p, LayerKind::kDense).modes.front().kept_bytes;
  // The inputs of qkv and of the MLP each take three quarters more.
  EXPECT_EQ(whole - shared, 2 * 2 * 4096 * job.model.language_model.hidden * 3 / 4);
  EXPECT_EQ(KindOf(job, {1, 1, 32}, LayerKind::kDense).modes.front().kept_bytes,
            KindOf(Llama(), {1, 1, 32}, LayerKind::kDense).modes.front().kept_bytes);
}

TEST(LayerMemoryTest, PredictedTokensRunWithTheHead) {
  Job job = DeepSeek();
  const Parallelism p{8, 4, 2};
  const LayerCost head = KindOf(job, p, LayerKind::kHead);
  const LayerCost layer = KindOf(job, p, LayerKind::kMoe);
  job.model.language_model.predicted_tokens = 1;
  const LayerCost more = KindOf(job, p, LayerKind::kHead);
  EXPECT_GT(more.parameters - head.parameters, layer.parameters);
  EXPECT_GT(more.modes.front().kept_bytes - head.modes.front().kept_bytes,
            layer.modes.front().kept_bytes);
  EXPECT_GT(more.forward_ns - head.forward_ns, layer.forward_ns + head.forward_ns / 2);
}

TEST(LayerMemoryTest, EagerModulesKeepMore) {
  Job job = Llama();
  const LanguageModel& m = job.model.language_model;
  const int64_t fused = KindOf(job, {1, 1, 32}, LayerKind::kDense).modes.front().kept_bytes;
  job.training.execution.fused_kernels = false;
  const int64_t eager = KindOf(job, {1, 1, 32}, LayerKind::kDense).modes.front().kept_bytes;
  EXPECT_EQ(eager - fused, 2 * 4096 * (2 * 2 * m.hidden + m.ffn));
}

TEST(LayerMemoryTest, BuffersGrowWithPipelinesAndBuckets) {
  Job job = Llama();
  const int64_t alone = BufferBytes(job, {1, 1, 32}, kMemoryPack);
  EXPECT_EQ(alone, LibraryBytes(job));
  EXPECT_EQ(BufferBytes(job, {1, 4, 8}, kMemoryPack) - alone, 4 * 2 * 4096 * 4096);
  job.training.execution.bucket_bytes = 3'000'000'000;
  EXPECT_EQ(BufferBytes(job, {1, 1, 32}, kMemoryPack) - alone, 3'000'000'000);
  job.training.zero_stage = ZeroStage::kNone;  // without a sharded optimizer there are no buckets
  EXPECT_EQ(BufferBytes(job, {1, 1, 32}, kMemoryPack), alone);
}

}  // namespace
}  // namespace evenkeel::planner
