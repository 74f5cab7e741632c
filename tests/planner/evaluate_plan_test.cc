#include "planner/evaluate_plan.h"

#include <gtest/gtest.h>

#include "planner/make_plan.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Plan PlannedFor(const Job& job) {
  PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete);
  EXPECT_TRUE(result.plan.fits());
  return result.plan;
}

TEST(EvaluatePlanTest, OurOwnPlanEvaluatesToItself) {
  const Job job = QuickstartJob();
  const Plan plan = PlannedFor(job);
  Job given = job;
  given.training.unit_cap = plan.batch_rule.unit_cap;
  given.training.token_cap = plan.batch_rule.token_cap;
  const Evaluation found = EvaluatePlan(given, SpecOf(plan));
  ASSERT_TRUE(found.faults.empty()) << found.faults.front().field;
  EXPECT_TRUE(found.plan.fits());
  EXPECT_EQ(found.plan.prediction.step.total_ns, plan.prediction.step.total_ns);
  EXPECT_EQ(found.plan.prediction.gpu_days, plan.prediction.gpu_days);
  EXPECT_EQ(found.plan.proof.step_ns, plan.proof.step_ns);
  EXPECT_EQ(found.plan.proof.plan_lower_bound_ns, plan.proof.plan_lower_bound_ns);
  ASSERT_EQ(found.plan.stages.size(), plan.stages.size());
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    EXPECT_EQ(found.plan.stages[s].memory.total(), plan.stages[s].memory.total());
    EXPECT_EQ(found.plan.stages[s].forward_ns, plan.stages[s].forward_ns);
    EXPECT_EQ(found.plan.stages[s].layers.size(), plan.stages[s].layers.size());
  }
}

TEST(EvaluatePlanTest, AWorsePlanIsSlowerAndMisfitsAreNamed) {
  const Job job = QuickstartJob();
  const Plan plan = PlannedFor(job);
  PlanSpec spec = SpecOf(plan);
  for (ChunkSpec& chunk : spec.chunks) {
    for (LayerGroup& group : chunk.layers) {
      if (IsTransformerLayer(group.kind)) group.recomputed = {{.count = group.count}};
    }
  }
  const Evaluation recomputed = EvaluatePlan(job, spec);
  ASSERT_TRUE(recomputed.faults.empty());
  EXPECT_GT(recomputed.plan.prediction.step.total_ns, plan.prediction.step.total_ns);

  Job small = job;
  small.cluster.gpu.memory_bytes /= 3;
  const Evaluation misfit = EvaluatePlan(small, SpecOf(plan));
  ASSERT_TRUE(misfit.faults.empty());
  ASSERT_FALSE(misfit.plan.fits());
  const StagePlan& worst = misfit.plan.stages[static_cast<size_t>(misfit.plan.misfit->stage)];
  EXPECT_EQ(misfit.plan.misfit->short_bytes, -worst.free_bytes());
}

// A job whose trainer frees its gradients, or holds them.
Job FreesGradients(bool frees, int64_t pipeline) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 2);
  job.training.zero_stage = ZeroStage::kNone;
  job.training.execution.frees_gradients = frees;
  FixDegrees(job, 1, pipeline, 2 / pipeline);
  return job;
}

constexpr RecomputedLayers kEightRecomputed = {.count = 8};

// Returns the memory of the stages, with one micro-batch per rank.
std::vector<int64_t> Memory(bool frees, PlanSpec spec) {
  spec.micro_batches = 1;
  const Job job = FreesGradients(frees, spec.parallelism.pipeline);
  const Evaluation found = EvaluatePlan(job, spec);
  EXPECT_TRUE(found.faults.empty());
  std::vector<int64_t> bytes;
  for (const StagePlan& stage : found.plan.stages) bytes.push_back(stage.memory.allocated());
  return bytes;
}

// Where layers in front keep more than those after them, gradients of the latter exist together
// with what the former keep: each layer counts with its activations or its gradients.
TEST(EvaluatePlanTest, GradientsAreMadeSoonerWhereBackLayersRecompute) {
  constexpr LayerKind kDense = LayerKind::kDense;
  const LayerGroup keep{.kind = kDense, .count = 16};
  const LayerGroup recompute{.kind = kDense, .count = 16, .recomputed = {{.count = 16}}};
  PlanSpec spec{.parallelism = {.data = 2}, .chunks = {{.layers = {recompute, keep}}}};
  EXPECT_LT(Memory(true, spec)[0], Memory(false, spec)[0]);
  spec.chunks = {{.layers = {keep, recompute}}};
  EXPECT_LT(Memory(true, spec)[0], Memory(false, spec)[0]);
}

// Chunk 1 runs backward before chunk 0.
TEST(EvaluatePlanTest, GradientsOfSeveralChunksCountAllTheTime) {
  constexpr LayerKind kDense = LayerKind::kDense;
  const ChunkSpec keep{.layers = {{.kind = kDense, .count = 8}}};
  const ChunkSpec recompute{
      .layers = {{.kind = kDense, .count = 8, .recomputed = {kEightRecomputed}}}};
  PlanSpec spec{.parallelism = {.pipeline = 2, .virtual_stages = 2},
                .schedule = Schedule::kInterleaved,
                .chunks = {keep, keep, recompute, recompute}};
  EXPECT_EQ(Memory(true, spec), Memory(false, spec));
  const LayerGroup sixteen{.kind = kDense, .count = 16};
  const PlanSpec one{.parallelism = {.pipeline = 2}, .chunks = {{{sixteen}}, {{sixteen}}}};
  EXPECT_LT(Memory(true, one)[0], Memory(false, one)[0]);
}

TEST(EvaluatePlanTest, PacksMayBeRoundedDownToWholeRoundsOfAPipelineWithChunks) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  job.training.token_cap = 8192;
  job.training.global_batch_samples = 90;
  const ChunkSpec chunk{.layers = {{.kind = LayerKind::kDense, .count = 4}}};
  PlanSpec spec{.parallelism = {.tensor = 2, .pipeline = 4, .virtual_stages = 2},
                .schedule = Schedule::kInterleaved,
                .chunks = std::vector<ChunkSpec>(8, chunk)};
  const auto packs = [&](int64_t planned) {
    spec.planned_micro_batches = planned;
    return EvaluatePlan(job, spec).plan.prediction.micro_batches;
  };
  const int64_t nearest = packs(0), whole = nearest / 4 * 4;
  ASSERT_NE(nearest, whole) << "choose another batch";
  EXPECT_EQ(packs(whole), whole);
  EXPECT_EQ(packs(whole - 4), nearest) << "of another plan";
  EXPECT_EQ(packs(nearest + 1), nearest);
}

TEST(EvaluatePlanTest, FaultsNameTheField) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);  // the encoder ends on the third stage
  const PlanSpec good = SpecOf(PlannedFor(job));
  const auto field = [&](auto change) {
    PlanSpec spec = good;
    change(spec);
    const Evaluation found = EvaluatePlan(job, spec);
    return found.faults.empty() ? std::string() : found.faults.front().field;
  };
  EXPECT_EQ(field([](PlanSpec& s) { s.parallelism.data *= 2; }), "parallelism");
  EXPECT_EQ(field([](PlanSpec& s) { s.chunks.pop_back(); }), "chunks");
  EXPECT_EQ(field([](PlanSpec& s) { s.chunks[1].layers.clear(); }), "chunks[1]");
  EXPECT_EQ(field([](PlanSpec& s) { ++s.chunks[0].layers.back().count; }), "chunks[2].layers[0]");
  EXPECT_EQ(field([](PlanSpec& s) { s.chunks[1].layers[0].recomputed = {{.count = 999}}; }),
            "chunks[1].layers[0].recomputed");
}

}  // namespace
}  // namespace evenkeel::planner
