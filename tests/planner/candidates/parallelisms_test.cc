#include "planner/candidates/parallelisms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "planner/base/random.h"
#include "planner/space/tensor_parallel.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr double kManyPacks = 1e9;

auto Key(const Parallelism& p) {
  return std::tuple(p.tensor, p.context, p.pipeline, p.data, p.expert, p.virtual_stages,
                    p.encoder_data);
}

// Returns how many ranks may share the images of a pack.
std::set<int64_t> ImageRanks(const Job& job, int64_t t, int64_t c) {
  if (job.model.towers.empty()) return {1};
  switch (job.training.trainer->encoder_split) {
    case EncoderSplit::kContext:
      return {c};
    case EncoderSplit::kAny:
      return {1, c, t * c};
    default:
      return {1};
  }
}

// Lists every combination of numbers up to the GPU count, by the rules of the contract only.
std::set<decltype(Key({}))> All(const Job& job, int64_t layers) {
  std::set<decltype(Key({}))> all;
  const int64_t gpus = job.cluster.gpu_count;
  const LanguageModel& m = job.model.language_model;
  const int64_t experts = m.moe ? m.moe->experts : 1;
  for (int64_t t = 1; t <= std::min<int64_t>(gpus, 8); ++t) {
    for (int64_t c = 1; c <= gpus; ++c) {
      for (int64_t p = 1; p <= std::min(gpus, layers); ++p) {
        for (int64_t d = 1; d <= gpus; ++d) {
          if (t * c * p * d != gpus || m.heads % (t * c) != 0 || m.kv_heads % t != 0) continue;
          if (job.training.trainer->transformer_engine_context && m.kv_heads % (t * c) != 0)
            continue;
          for (int64_t e = 1; e <= experts; ++e) {
            if (experts % e != 0 || t * c * d % e != 0) continue;
            for (int64_t v = 1; p * v <= layers; ++v) {
              if (v > 1 && p == 1) continue;
              for (const int64_t i : ImageRanks(job, t, c)) all.insert({t, c, p, d, e, v, i});
            }
          }
        }
      }
    }
  }
  return all;
}

void ExpectAll(const Job& job, int64_t layers) {
  std::set<decltype(Key({}))> own;
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) EXPECT_TRUE(own.insert(Key(p)).second);
  EXPECT_EQ(own, All(job, layers));
}

TEST(ParallelismsTest, AreAllThatTheRulesAllow) {
  for (const int64_t gpus : {1, 2, 6, 8, 16, 24}) {
    ExpectAll(WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", gpus)), 32);
    ExpectAll(WholeSpace(TextJob("mixtral-8x7b", "h100-sxm-80gb", gpus)), 32);
  }
}

TEST(ParallelismsTest, RanksShareImagesAsTheTrainerCan) {
  Job job = WholeSpace(VisionJob("internvit-6b-448px-v1.5", "llama3-8b", "a100-sxm-80gb", 16));
  const int64_t layers = 32 + job.model.towers[0].encoder.layers;
  ExpectAll(job, layers);
  Trainer trainer = *job.training.trainer;
  for (const EncoderSplit split : {EncoderSplit::kNone, EncoderSplit::kContext}) {
    trainer.encoder_split = split;
    job.training.trainer = &trainer;
    ExpectAll(job, layers);
  }
  job.training.trainer = FindTrainer("unlimited");
  job.constraints.encoder_data = {4, 8};
  for (const Parallelism& p : Parallelisms(job, kManyPacks))
    EXPECT_TRUE(p.encoder_data == 4 || p.encoder_data == 8);
  EXPECT_FALSE(Parallelisms(job, kManyPacks).empty());
}

TEST(ParallelismsTest, ContextExpertAndChunksAreOneWhereTheJobSaysSo) {
  const Job job = TextJob("mixtral-8x7b", "a100-sxm-80gb", 48);
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) {
    EXPECT_EQ(p.context * p.expert * p.virtual_stages, 1);
    EXPECT_EQ(p.tensor * p.pipeline * p.data, 48);
  }
}

TEST(ParallelismsTest, HoldConstraints) {
  Job job = WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", 64));
  job.constraints.tensor_parallel = {2, 4};
  job.constraints.pipeline_parallel = {4, 0};
  job.constraints.data_parallel = {1, 4};
  job.constraints.context_parallel = {2, 2};
  job.constraints.virtual_stages = {2, 3};
  const std::vector<Parallelism> all = Parallelisms(job, kManyPacks);
  EXPECT_FALSE(all.empty());
  for (const Parallelism& p : all) {
    EXPECT_TRUE(p.tensor == 2 || p.tensor == 4);
    EXPECT_GE(p.pipeline, 4);
    EXPECT_LE(p.data, 4);
    EXPECT_EQ(p.context, 2);
    EXPECT_TRUE(p.virtual_stages == 2 || p.virtual_stages == 3);
  }
  job.constraints.virtual_stages = {1, 0};
  job.constraints.stage_layers.assign(16, 2);
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) {
    EXPECT_EQ(p.pipeline, 16);
    EXPECT_EQ(p.virtual_stages, 1);
  }
  FixDegrees(job, 3, 1, 1);
  EXPECT_TRUE(Parallelisms(job, kManyPacks).empty());
}

TEST(ParallelismsTest, RingNeedsNoHeads) {
  Job job = WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", 24));
  const auto widest = [&] {
    int64_t context = 1;
    for (const Parallelism& p : Parallelisms(job, kManyPacks))
      context = std::max(context, p.context);
    return context;
  };
  EXPECT_EQ(widest(), 8);  // divides 32 heads and 24 GPUs
  for (const ContextKind kind :
       {ContextKind::kRing, ContextKind::kAllGather, ContextKind::kHierarchical}) {
    job.training.execution.context = kind;
    EXPECT_EQ(widest(), 24);
  }
}

TEST(ParallelismsTest, HeadsAreExchangedInsideNodes) {
  const ModelSpec model = TextJob("llama3-8b", "a100-sxm-80gb", 8).model;  // 32 heads, 8 of keys
  const auto ranks = [&](int64_t tensor, int64_t context, int64_t per_node, bool engine = false) {
    return HeadRanks(model, tensor, context, {ContextKind::kHierarchical, engine, per_node});
  };
  EXPECT_EQ(ranks(1, 32, 8), 8);
  EXPECT_EQ(ranks(1, 12, 8), 4);
  EXPECT_EQ(ranks(8, 8, 8), 4);
  EXPECT_EQ(ranks(32, 8, 8), 1);
  EXPECT_EQ(ranks(1, 8, 6), 2);
  EXPECT_EQ(ranks(8, 8, 8, /*engine=*/true), 1);
  EXPECT_EQ(ranks(2, 8, 8, /*engine=*/true), 4);
}

TEST(ParallelismsTest, TransformerEngineCopiesNoKeysAndRingsNoWindows) {
  ModelSpec model = TextJob("llama3-8b", "h100-sxm-80gb", 8).model;  // 32 heads, 8 of keys
  const auto fault = [&](int64_t tensor, int64_t context, ContextKind kind, bool engine = true) {
    return ContextFaultOf(model, tensor, context, {kind, engine, 8});
  };
  const ContextKind ulysses = ContextKind::kUlysses, either = ContextKind::kUlyssesOrRing;
  EXPECT_EQ(fault(1, 8, ulysses), ContextFault::kNone);
  EXPECT_EQ(fault(1, 16, ulysses), ContextFault::kKeyValueHeads);
  EXPECT_EQ(fault(1, 16, ulysses, false), ContextFault::kNone);
  EXPECT_EQ(fault(1, 64, ulysses, false), ContextFault::kHeads);
  EXPECT_EQ(fault(1, 16, either), ContextFault::kNone);
  EXPECT_EQ(fault(1, 64, either), ContextFault::kHeads);
  EXPECT_EQ(fault(1, 1, ulysses), ContextFault::kNone);
  LanguageLayer windows;
  windows.attention = AttentionKind::kWindow;
  windows.window_tokens = 1024;
  model.language_model.runs = {{windows, 32}};
  EXPECT_EQ(fault(1, 4, ContextKind::kRing), ContextFault::kWindows);
  EXPECT_EQ(fault(1, 4, ContextKind::kRing, false), ContextFault::kNone);
  EXPECT_EQ(fault(1, 4, ContextKind::kAllGather), ContextFault::kNone);
  EXPECT_EQ(fault(1, 4, either), ContextFault::kNone);
  EXPECT_EQ(fault(1, 16, either), ContextFault::kWindows);
  model.language_model.attention_sinks = true;
  EXPECT_EQ(fault(1, 4, ContextKind::kAllGather), ContextFault::kSinks);
  EXPECT_EQ(fault(1, 8, either), ContextFault::kNone);
  EXPECT_EQ(fault(2, 8, either), ContextFault::kSinks);
}

TEST(ParallelismsTest, LatentAttentionPassesKeysAroundARing) {
  const ModelSpec model = TextJob("deepseek-v3-671b", "h100-sxm-80gb", 8).model;
  EXPECT_EQ(HeadRanks(model, 1, 8, {ContextKind::kUlyssesOrRing, true, 8}), 1);
  EXPECT_EQ(HeadRanks(model, 1, 8, {ContextKind::kUlyssesOrRing, false, 8}), 8);
  EXPECT_EQ(HeadRanks(model, 1, 8, {ContextKind::kUlysses, true, 8}), 8);
}

TEST(ParallelismsTest, ExpertTensorDividesTheRanksLeftForExperts) {
  Job job = WholeSpace(TextJob("mixtral-8x7b", "a100-sxm-80gb", 16));
  job.training.execution.expert_tensor = 4;
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) {
    if (p.expert == 1) continue;
    EXPECT_EQ(p.tensor % 4, 0);
    EXPECT_EQ(p.tensor * p.context * p.data % (4 * p.expert), 0);
  }
}

TEST(ParallelismsTest, ScheduleDecidesOnChunks) {
  Job job = WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", 16));
  job.constraints.schedule = Schedule::kInterleaved;
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) {
    EXPECT_GT(p.virtual_stages, 1);
    EXPECT_EQ(ScheduleOf(job.constraints, p), Schedule::kInterleaved);
  }
  job.constraints.schedule = Schedule::kZeroBubble;
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) EXPECT_EQ(p.virtual_stages, 1);
  job.constraints.schedule.reset();
  for (const Parallelism& p : Parallelisms(job, kManyPacks)) {
    EXPECT_EQ(ScheduleOf(job.constraints, p),
              p.virtual_stages > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB);
  }
}

TEST(ParallelismsTest, GPipeNeedsAPipeline) {
  Constraints constraints;
  constraints.schedule = Schedule::kGPipe;
  EXPECT_EQ(ScheduleOf(constraints, {.tensor = 1, .pipeline = 2, .data = 1}), Schedule::kGPipe);
  EXPECT_EQ(ScheduleOf(constraints, {.tensor = 1, .pipeline = 1, .data = 2}), Schedule::kOneFOneB);
}

TEST(ParallelismsTest, ShardedWeightsHaveNoPipeline) {
  for (const bool fsdp : {false, true}) {
    Job job = WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", 16));
    if (fsdp) job.training.trainer = &TrainerOf(Framework::kFsdp);
    if (!fsdp) job.training.zero_stage = ZeroStage::kWeights;
    const std::vector<Parallelism> all = Parallelisms(job, kManyPacks);
    EXPECT_FALSE(all.empty());
    for (const Parallelism& p : all) EXPECT_EQ(p.pipeline, 1);
  }
}

TEST(ParallelismsTest, NoMoreRanksThanPacksOfAStepUnlessNothingElseRemains) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 64);
  const auto most_data = [&](double packs_per_step) {
    int64_t most = 0;
    for (const Parallelism& p : Parallelisms(job, packs_per_step)) most = std::max(most, p.data);
    return most;
  };
  EXPECT_EQ(most_data(5.5), 4);
  // 8 ranks with a pack each train on no more than 4 ranks with 2 packs.
  EXPECT_EQ(most_data(7.9), 8);
  EXPECT_EQ(most_data(6.1), 8);
  EXPECT_EQ(most_data(5.9), 4);
  EXPECT_EQ(most_data(63.75), 64);
  FixDegrees(job, 1, 1, 64);
  ASSERT_EQ(Parallelisms(job, 5.5).size(), 1u);
  EXPECT_EQ(Parallelisms(job, 5.5)[0], (Parallelism{1, 1, 64}));
}

TEST(ParallelismsTest, StepsKeepTheBatchUnlessNothingElseRemains) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 40);
  job.training.keeps_batch = true;
  const auto degrees = [&](double packs_per_step) {
    std::set<int64_t> data;
    for (const Parallelism& p : Parallelisms(job, packs_per_step)) data.insert(p.data);
    return data;
  };
  // 40 ranks with 2 packs each train on 80, 20 with 3 on 60, 10 with 6 on 60.
  EXPECT_EQ(degrees(64), (std::set<int64_t>{1, 2, 4, 5, 8}));
  EXPECT_EQ(degrees(77), (std::set<int64_t>{1, 2, 4, 5, 8, 10, 20, 40}));
  // None of these misses 66 by a twentieth or less, and 40 misses it by more than an eighth.
  job.constraints.data_parallel = {20, 0};
  EXPECT_EQ(degrees(66), (std::set<int64_t>{20}));
  job.constraints.data_parallel = {40, 40};
  EXPECT_EQ(degrees(64), (std::set<int64_t>{40}));
  job.constraints.data_parallel = {};
  job.training.keeps_batch = false;
  EXPECT_EQ(degrees(64).count(40), 1u);
}

TEST(ParallelismsTest, ChunksHaveAsManyPacksAsStagesUnlessNothingElseRemains) {
  Job job = WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", 64));
  const auto count = [&](bool few) {
    int64_t counted = 0;
    for (const Parallelism& p : Parallelisms(job, 16))
      counted += p.virtual_stages > 1 && (MicroBatches(16, p.data) < p.pipeline) == few;
    return counted;
  };
  EXPECT_EQ(count(true), 0);
  EXPECT_GT(count(false), 0);
  FixDegrees(job, 2, 16, 2);  // 8 packs for each rank
  job.constraints.virtual_stages = {2, 2};
  EXPECT_EQ(count(true), 1);
}

TEST(ParallelismsTest, PrimeCountsAndOne) {
  EXPECT_EQ(Parallelisms(TextJob("llama3-8b", "a100-sxm-80gb", 1), kManyPacks).size(), 1u);
  const std::vector<Parallelism> prime =
      Parallelisms(TextJob("llama3-8b", "a100-sxm-80gb", 13), kManyPacks);
  EXPECT_EQ(prime, (std::vector<Parallelism>{{1, 1, 13}, {1, 13, 1}}));
}

TEST(MicroBatchesTest, NearestAndAtLeastOne) {
  EXPECT_EQ(MicroBatches(100, 8), 13);
  EXPECT_EQ(MicroBatches(99, 8), 12);
  EXPECT_EQ(MicroBatches(0.2, 8), 1);
}

TEST(MicroBatchesTest, InterleavedStagesMayTakeWholeGroups) {
  Parallelism p{.tensor = 1, .pipeline = 4, .data = 2, .virtual_stages = 2};
  EXPECT_EQ(MicroBatchChoices(1034, p), (std::vector<int64_t>{517, 516}));
  EXPECT_EQ(MicroBatchChoices(1032, p), (std::vector<int64_t>{516}));
  EXPECT_EQ(MicroBatchChoices(14, p), (std::vector<int64_t>{7}));  // 4 would leave out 3 of 7
  EXPECT_EQ(MicroBatchChoices(6, p), (std::vector<int64_t>{3}));
  p.virtual_stages = 1;
  EXPECT_EQ(MicroBatchChoices(1034, p), (std::vector<int64_t>{517}));
}

// A bound must not prune a step that would beat the batch's time.
TEST(StepScaledToTest, IsNeverScaledToLess) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const int64_t batch = 1 + static_cast<int64_t>(random.Below(uint64_t{1} << (1 + i % 50)));
    const int64_t m = 1 + static_cast<int64_t>(random.Below(500)),
                  data = 1 + static_cast<int64_t>(random.Below(64));
    const double packs = 0.5 + static_cast<double>(random.Below(1'000'000)) / 37;
    const int64_t step = StepScaledTo(batch, packs, m, data);
    EXPECT_GE(ScaleToBatch(step, packs, m, data), batch);
    EXPECT_LE(ScaleToBatch(step - 4, packs, m, data), batch);
  }
}

}  // namespace
}  // namespace evenkeel::planner
