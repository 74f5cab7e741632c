#include "planner/evaluate_plan.h"

#include <gtest/gtest.h>

#include "planner/make_plan.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Plan PlanOf(const Job& job) {
  PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete);
  EXPECT_TRUE(result.plan.fits());
  return result.plan;
}

TEST(EvaluatePlanTest, OurOwnPlanEvaluatesToItself) {
  const Job job = QuickstartJob();
  const Plan plan = PlanOf(job);
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
  const Plan plan = PlanOf(job);
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

TEST(EvaluatePlanTest, FaultsNameTheField) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);  // the encoder ends on the third stage
  const PlanSpec good = SpecOf(PlanOf(job));
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
