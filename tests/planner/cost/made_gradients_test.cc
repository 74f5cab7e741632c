#include "planner/cost/made_gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "planner/base/random.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/recompute/stage_memory.h"
#include "planner/search/stage_plans.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kGradientsPack{.tokens = 4096, .squared = 4096.0 * 4096};

// Makes a job of a trainer with all its defaults.
Job JobOf(std::string_view trainer, ZeroStage stage, std::string_view model = "llama3-8b") {
  Job job = TextJob(model, "h100-sxm-80gb", 8);
  job.training.trainer = FindTrainer(trainer);
  job.training.zero_stage = stage;
  job.training.execution = DefaultExecution(*job.training.trainer, stage);
  job.training.distributed_gradients_fp32 = false;
  job.constraints.recompute = RecomputePolicy::kAuto;
  return job;
}
// Makes a job of FSDP whose gradients leave their memory to activations.
Job WithoutPool(std::string_view trainer, std::string_view model = "llama3-8b") {
  Job job = JobOf(trainer, ZeroStage::kWeights, model);
  job.training.execution.pools_gradients = false;
  return job;
}
Job HuggingFace(std::string_view model = "llama3-8b") {
  return JobOf("huggingface-trainer", ZeroStage::kNone, model);
}

LayerProfile ProfileOf(const Job& job, int64_t micro_batches,
                       const PackShape& pack = kGradientsPack, const Parallelism& p = {1, 1, 8}) {
  return BuildLayerProfile(job, p, pack, pack, {}, micro_batches);
}

bool Made(const LayerProfile& profile) {
  return std::any_of(profile.classes.begin(), profile.classes.end(),
                     [](const LayerCost& layer) { return layer.made_bytes > 0; });
}

ClassCounts CountsOf(const LayerProfile& profile) {
  ClassCounts counts{};
  for (const int of_class : profile.chain) ++counts[static_cast<size_t>(of_class)];
  return counts;
}

// Lets the first layers of every class recompute all.
ModeCounts FirstRecompute(const LayerProfile& profile, int64_t layers) {
  ModeCounts all = AllRecomputed(profile, CountsOf(profile));
  for (auto& modes : all)
    for (int32_t& count : modes) count = static_cast<int32_t>(std::min<int64_t>(count, layers));
  return all;
}

// Lets the first layers of the chain recompute all.
ModeCounts FirstOfChain(const LayerProfile& profile, int64_t layers) {
  ModeCounts all{};
  for (const int of_class : profile.chain) {
    const size_t k = static_cast<size_t>(of_class);
    if (profile.classes[k].recomputable() && layers-- > 0)
      ++all[k][profile.classes[k].modes.size() - 1];
  }
  return all;
}

int64_t Allocated(const LayerProfile& profile, const ModeCounts& recomputed) {
  return MemoryOf(profile, CountsOf(profile), recomputed, 1).allocated();
}

int64_t Sum(const LayerProfile& profile, int64_t LayerCost::*part) {
  return std::accumulate(profile.chain.begin(), profile.chain.end(), int64_t{0},
                         [&](int64_t sum, int of_class) {
                           return sum + profile.classes[static_cast<size_t>(of_class)].*part;
                         });
}

// Returns the most that counts in addition to what layers keep: a workspace, and the gradients of
// the head and of layers in front.
int64_t Slack(const LayerProfile& held) {
  int64_t tables = 0, workspace = 0;
  for (const LayerCost& layer : held.classes) {
    if (!IsTransformerLayer(layer.kind))
      tables += std::max(layer.gradient_bytes, layer.end_workspace_bytes);
    for (const RecomputeMode& mode : layer.modes)
      workspace = std::max(workspace, mode.workspace_bytes);
  }
  return tables + workspace;
}

// Walks backward through the layers of a profile with gradients that are held, and makes them one
// by one instead. A layer's own gradients follow its workspace, as in the model.
int64_t WalkedPeak(const LayerProfile& held, int64_t recomputed, int64_t kept_in_front = 0) {
  struct Step {
    int64_t kept = 0, workspace = 0, gradient = 0;
  };
  std::vector<Step> steps;
  int64_t states = 0, now = 0;
  for (int64_t i = 0; i < held.size(); ++i) {
    const LayerCost& layer = held.at(i);
    const bool whole = layer.recomputable() && kept_in_front-- <= 0 && recomputed-- > 0;
    const RecomputeMode& mode = whole ? layer.modes.back() : layer.modes.front();
    steps.push_back({mode.kept_bytes, mode.workspace_bytes, layer.gradient_bytes});
    states += layer.weight_bytes + layer.optimizer_bytes;
    now += mode.kept_bytes;
  }
  int64_t peak = 0;
  for (; !steps.empty(); steps.pop_back()) {
    peak = std::max(peak, now + steps.back().workspace);
    now += steps.back().gradient - steps.back().kept;
  }
  return states + std::max(peak, now);
}

TEST(MadeGradientsTest, IsADefaultOfTrainers) {
  struct Expected {
    const char* trainer;
    ZeroStage stage;
    bool frees;
  };
  for (const Expected& expected : {Expected{"pytorch-fsdp", ZeroStage::kWeights, true},
                                   {"torchtitan", ZeroStage::kWeights, true},
                                   {"torchtune", ZeroStage::kWeights, true},
                                   {"llm-foundry", ZeroStage::kWeights, true},
                                   {"xtuner", ZeroStage::kWeights, true},
                                   {"huggingface-trainer", ZeroStage::kNone, true},
                                   {"huggingface-trainer", ZeroStage::kGradients, true},
                                   {"deepspeed", ZeroStage::kOptimizer, true},
                                   {"deepspeed", ZeroStage::kGradients, true},
                                   {"deepspeed", ZeroStage::kNone, false},
                                   {"deepspeed", ZeroStage::kWeights, false},
                                   {"huggingface-trainer", ZeroStage::kWeights, false},
                                   {"megatron-core", ZeroStage::kOptimizer, false},
                                   {"megatron-bridge", ZeroStage::kOptimizer, false},
                                   {"megatron-deepspeed", ZeroStage::kOptimizer, false},
                                   {"fsdp", ZeroStage::kWeights, false},
                                   {"internevo", ZeroStage::kOptimizer, false},
                                   {"nanotron", ZeroStage::kOptimizer, false},
                                   {"unlimited", ZeroStage::kOptimizer, false},
                                   {"generic", ZeroStage::kOptimizer, false}}) {
    EXPECT_EQ(DefaultExecution(*FindTrainer(expected.trainer), expected.stage).frees_gradients,
              expected.frees)
        << expected.trainer << " at stage " << static_cast<int>(expected.stage);
  }
}

TEST(MadeGradientsTest, NoneIsThereAtTheLoss) {
  const LayerProfile held = ProfileOf(HuggingFace(), 2), made = ProfileOf(HuggingFace(), 1);
  ASSERT_TRUE(Made(made));
  EXPECT_FALSE(Made(held));
  // Activations and logits are more than gradients here: the peak is at the loss.
  const int64_t gradients = Sum(held, &LayerCost::gradient_bytes);
  EXPECT_EQ(Allocated(held, {}) - Allocated(made, {}), gradients);
  EXPECT_EQ(Allocated(made, {}), WalkedPeak(held, 0));
}

TEST(MadeGradientsTest, AllAreThereAtTheEnd) {
  // With few tokens, the peak is at the end of the backward pass.
  const PackShape small{.tokens = 128, .squared = 128.0 * 128};
  const LayerProfile held = ProfileOf(HuggingFace(), 2, small);
  const LayerProfile made = ProfileOf(HuggingFace(), 1, small);
  const int64_t states = Sum(held, &LayerCost::weight_bytes) +
                         Sum(held, &LayerCost::gradient_bytes) +
                         Sum(held, &LayerCost::optimizer_bytes);
  const StageBytes memory = MemoryOf(made, CountsOf(made), {}, 1);
  EXPECT_GT(memory.end_bytes, 0);
  EXPECT_GE(memory.allocated(), states);
  EXPECT_LE(memory.allocated(), states + made.buffer_bytes + (int64_t{1} << 20));
  EXPECT_LT(memory.allocated(), Allocated(held, {}));
}

TEST(MadeGradientsTest, TheWholeBackwardPassFits) {
  Random random(3);
  int at_loss = 0, at_end = 0;
  for (int run = 0; run < 300; ++run) {
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random.Below(n)); };
    Job job = below(2) == 0 ? HuggingFace() : WithoutPool("torchtitan");
    LanguageModel& m = job.model.language_model;
    m.layers = 1 + below(40), m.vocab = 1000 << below(8), m.ffn = 1024 << below(5);
    if (below(4) == 0) m.train = TrainMode::kLora, m.lora = {.rank = 16};
    if (below(4) == 0) job.training.distributed_gradients_fp32 = true;
    const double tokens = static_cast<double>(int64_t{64} << below(9));
    const PackShape pack{.tokens = tokens, .squared = tokens * tokens};
    const LayerProfile held = ProfileOf(job, 2, pack), made = ProfileOf(job, 1, pack);
    ASSERT_TRUE(Made(made)) << run;
    for (const int64_t recomputed : {int64_t{0}, below(m.layers + 1), m.layers}) {
      const ModeCounts modes = FirstRecompute(held, recomputed);
      const int64_t allocated = Allocated(made, modes), most = Allocated(held, modes);
      const int64_t walked = WalkedPeak(held, recomputed);
      EXPECT_GE(allocated, walked) << run;
      // A second micro-batch needs no less.
      EXPECT_LE(allocated, most) << run;
      // The model's additions: the embedding's part, and the whole layer in work.
      const StageBytes memory = MemoryOf(made, CountsOf(made), modes, 1);
      (memory.end_bytes > 0 ? at_end : at_loss) += 1;
      int64_t slack = 0;
      for (const LayerCost& layer : held.classes)
        slack = std::max(slack, layer.gradient_bytes + layer.modes.front().kept_bytes +
                                    layer.modes.front().workspace_bytes);
      EXPECT_LE(allocated, walked + 2 * slack) << run;
    }
  }
  EXPECT_GT(at_loss, 100);
  EXPECT_GT(at_end, 100);
}

TEST(MadeGradientsTest, SomeJobsHoldThemAllTheTime) {
  Job job = WithoutPool("torchtitan");
  ASSERT_TRUE(Made(ProfileOf(job, 1)));
  job.training.fused_step = true;
  EXPECT_FALSE(Made(ProfileOf(job, 1)));
  job = WithoutPool("torchtitan");
  job.training.offload.weights = true;
  EXPECT_FALSE(Made(ProfileOf(job, 1)));
  job = HuggingFace();
  job.training.group_selection = GroupSelection::kExact;
  EXPECT_FALSE(Made(ProfileOf(job, 1)));
  job = HuggingFace("deepseek-v3-671b");
  ASSERT_TRUE(Made(ProfileOf(job, 1)));
  job.training.activations = {.asked = true, .layers = 4, .charged_layers = 4};
  EXPECT_FALSE(Made(ProfileOf(job, 1)));
}

Job OfUnequalLayers(int64_t kind) {
  if (kind == 0) {  // a trained encoder
    Job job = VisionJob("internvit-300m-448px", "llama3.2-3b", "h100-sxm-80gb", 8);
    job.training.execution.frees_gradients = true;
    return job;
  }
  if (kind == 1) return WithoutPool("torchtitan", "deepseek-v3-671b");
  // Windows in most layers, and a tied table.
  Job job = HuggingFace("llama3.2-3b");
  constexpr LanguageLayer kWindow{.attention = AttentionKind::kWindow, .window_tokens = 512};
  for (int block = 0; block < 7; ++block) {
    job.model.language_model.runs.push_back({kWindow, 3});
    job.model.language_model.runs.push_back({LanguageLayer{}, 1});
  }
  return job;
}

TEST(MadeGradientsTest, UnequalLayersHoldActivationsOrGradients) {
  Random random(5);
  int lower = 0, with_excess = 0, without = 0;
  for (int run = 0; run < 300; ++run) {
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random.Below(n)); };
    Job job = OfUnequalLayers(run % 3);
    if (below(4) == 0) job.training.distributed_gradients_fp32 = true;
    const double tokens = static_cast<double>(int64_t{64} << below(9));
    PackShape pack{.tokens = tokens, .squared = tokens * tokens};
    if (run % 3 == 0) pack.units[0] = static_cast<double>(1 + below(8));
    const LayerProfile held = ProfileOf(job, 2, pack), made = ProfileOf(job, 1, pack);
    ASSERT_TRUE(Made(made)) << run;
    for (const int64_t recomputed : {int64_t{0}, below(40), int64_t{1000}}) {
      const ModeCounts modes = FirstOfChain(held, recomputed);
      const int64_t allocated = Allocated(made, modes), most = Allocated(held, modes);
      EXPECT_GE(allocated, WalkedPeak(held, recomputed)) << run;
      EXPECT_LE(allocated, most) << run;
      lower += allocated < most ? 1 : 0;
      const StageBytes memory = MemoryOf(made, CountsOf(made), modes, 1);
      const StageBytes activations = MemoryOf(held, CountsOf(held), modes, 1);
      EXPECT_EQ(memory.activation_bytes - memory.gradient_excess_bytes,
                activations.activation_bytes);
      (memory.gradient_excess_bytes > 0 ? with_excess : without) += 1;
      // Gradients that never exceed activations are not there at the loss.
      if (memory.gradient_excess_bytes == 0 && memory.end_bytes == 0) {
        EXPECT_LE(allocated, WalkedPeak(held, recomputed) + Slack(held)) << run;
      }
    }
  }
  EXPECT_GT(lower, 800);
  EXPECT_GT(with_excess, 100);
  EXPECT_GT(without, 80);
}

TEST(MadeGradientsTest, PlansThatKeepLessBehindAreUnequal) {
  // The last layers recompute. While the others run backward, their gradients are there already.
  const Job job = HuggingFace();
  const PackShape small{.tokens = 1024, .squared = 1024.0 * 1024};
  const LayerProfile held = ProfileOf(job, 2, small);
  const LayerProfile made = BuildLayerProfile(job, {1, 1, 8}, small, small, {}, 1, false);
  const ModeCounts modes = FirstRecompute(held, 16);
  const LayerCost& layer = held.classes[1];
  ASSERT_GT(layer.gradient_bytes, layer.modes.back().kept_bytes);
  const StageBytes memory = MemoryOf(made, CountsOf(made), modes, 1);
  EXPECT_EQ(memory.gradient_excess_bytes,
            16 * (layer.gradient_bytes - layer.modes.back().kept_bytes) +
                16 * std::max<int64_t>(0, layer.gradient_bytes - layer.modes.front().kept_bytes));
  EXPECT_GE(memory.allocated(), WalkedPeak(held, 16, 16));
  EXPECT_LT(memory.allocated(), Allocated(held, modes));
}

TEST(MadeGradientsTest, OnTheLastStageTheHeadsCountsAllTheTime) {
  Job job = HuggingFace();
  const LayerProfile stages = ProfileOf(job, 1, kGradientsPack, {1, 2, 4});
  const LayerCost& head = stages.at(stages.size() - 1);
  EXPECT_EQ(head.gradient_bytes, kWeightBytes * head.trained_parameters);
  EXPECT_EQ(head.made_bytes, 0);
  const LayerProfile held = ProfileOf(job, 2, kGradientsPack, {1, 2, 4});
  for (const int64_t layers : {1, 16, 31}) {
    ClassCounts last{};
    last[static_cast<size_t>(stages.chain[1])] = layers;
    last[static_cast<size_t>(stages.chain.back())] = 1;
    ClassCounts first{};
    first[static_cast<size_t>(stages.chain[0])] = 1;
    first[static_cast<size_t>(stages.chain[1])] = layers;
    for (const ClassCounts& counts : {first, last}) {
      EXPECT_LT(MemoryOf(stages, counts, {}, 1).allocated(),
                MemoryOf(held, counts, {}, 1).allocated());
    }
  }
}

TEST(MadeGradientsTest, ATiedTableIsSummedAtTheEnd) {
  // Three gradients of the table: of the head, of the embedding, and their sum.
  Job job = HuggingFace("llama3.2-3b");
  ASSERT_TRUE(job.model.language_model.tied_embeddings);
  const PackShape small{.tokens = 64, .squared = 64.0 * 64};
  const LayerProfile held = ProfileOf(job, 2, small), made = ProfileOf(job, 1, small);
  const int64_t states = Sum(held, &LayerCost::weight_bytes) +
                         Sum(held, &LayerCost::gradient_bytes) +
                         Sum(held, &LayerCost::optimizer_bytes);
  const int64_t table =
      kWeightBytes * job.model.language_model.vocab * job.model.language_model.hidden;
  const auto near = [&](int64_t bytes, int64_t tables) {
    EXPECT_GE(bytes, states + tables * table);
    EXPECT_LE(bytes, states + tables * table + made.buffer_bytes + (int64_t{1} << 20));
  };
  near(Allocated(made, {}), 2);
  near(Allocated(held, {}), 3);  // the sum goes to the gradient of earlier micro-batches
  job.training.execution.fused_weight_gradients = true;
  EXPECT_LT(Allocated(ProfileOf(job, 2, small), {}), states + 2 * table);
}

// Besides the three, ZeRO-3 has the gathered table. The rank's shard of the gradient comes last.
TEST(MadeGradientsTest, ATiedTableThatIsGatheredIsThereOnce) {
  const Job job = WithoutPool("pytorch-fsdp", "llama3.2-3b");
  const LanguageModel& m = job.model.language_model;
  const PackShape small{.tokens = 64, .squared = 64.0 * 64};
  const LayerProfile held = ProfileOf(job, 2, small), made = ProfileOf(job, 1, small);
  ASSERT_TRUE(Made(made));
  const int64_t states = Sum(made, &LayerCost::weight_bytes) +
                         Sum(held, &LayerCost::gradient_bytes) +
                         Sum(made, &LayerCost::optimizer_bytes);
  const int64_t table = kWeightBytes * m.vocab * m.hidden;
  EXPECT_GE(Allocated(made, {}), states + 4 * table - table / 8);
  EXPECT_LE(Allocated(made, {}), states + 4 * table + made.buffer_bytes + (int64_t{1} << 20));
}

TEST(PooledGradientsTest, TakeMemoryAllTheTimeButAreNotAllocated) {
  const Job job = JobOf("torchtitan", ZeroStage::kWeights);
  const LayerProfile held = ProfileOf(job, 2), pooled = ProfileOf(job, 1);
  EXPECT_TRUE(pooled.pools_gradients);
  EXPECT_FALSE(held.pools_gradients);
  const MemoryParts several = MemoryPartsOf(held, CountsOf(held), {}, 1);
  const MemoryParts once = MemoryPartsOf(pooled, CountsOf(pooled), {}, 1);
  EXPECT_EQ(once.gradients, 0);
  EXPECT_EQ(once.gradient_pool, Sum(held, &LayerCost::gradient_bytes));
  EXPECT_EQ(once.gradient_pool, several.gradients);
  EXPECT_EQ(several.gradient_pool, 0);
  EXPECT_EQ(once.total(), several.total());
  EXPECT_EQ(once.allocated() + once.gradient_pool, several.allocated());
}

TEST(PooledGradientsTest, NeedRanksThatShareWeights) {
  const Job job = JobOf("pytorch-fsdp", ZeroStage::kWeights);
  EXPECT_FALSE(ProfileOf(job, 1, kGradientsPack, {1, 1, 1}).pools_gradients);
  EXPECT_TRUE(ProfileOf(job, 1, kGradientsPack, {1, 1, 2}).pools_gradients);
}

// Mixtral-8x7B on 8 GPUs of 80 GB takes 69 GB with one micro-batch and does not fit with two
// (accelerate, docs/source/concept_guides/gradient_synchronization.md).
TEST(WholeGradientsTest, AreHeldBetweenMicroBatches) {
  Job job = JobOf("pytorch-fsdp", ZeroStage::kWeights, "mixtral-8x7b");
  const int64_t shards = Sum(ProfileOf(job, 2), &LayerCost::gradient_bytes);
  const int64_t once = Allocated(ProfileOf(job, 1), {});
  Execution& execution = job.training.execution;
  execution.accumulates_whole_gradients = true;
  const LayerProfile several = ProfileOf(job, 2);
  const int64_t trained = Sum(several, &LayerCost::trained_parameters);
  EXPECT_GT(trained, int64_t{46'000'000'000});
  // The shards take their place.
  ASSERT_TRUE(execution.frees_gradients);
  EXPECT_EQ(Sum(several, &LayerCost::gradient_bytes), 2 * trained);
  execution.reduces_fp32 = true;
  EXPECT_EQ(Sum(ProfileOf(job, 2), &LayerCost::gradient_bytes), 4 * trained);
  execution.frees_gradients = false;
  EXPECT_EQ(Sum(ProfileOf(job, 2), &LayerCost::gradient_bytes), shards + 4 * trained);
  execution.frees_gradients = true, execution.reduces_fp32 = false;
  EXPECT_EQ(Allocated(ProfileOf(job, 1), {}), once);
  job.training.zero_stage = ZeroStage::kOptimizer;  // which holds whole ones anyway
  const int64_t whole = Sum(ProfileOf(job, 2), &LayerCost::gradient_bytes);
  job.training.execution.accumulates_whole_gradients = false;
  EXPECT_EQ(Sum(ProfileOf(job, 2), &LayerCost::gradient_bytes), whole);
}

}  // namespace
}  // namespace evenkeel::planner
