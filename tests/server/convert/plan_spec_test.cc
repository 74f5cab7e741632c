// Tests plans that a caller wrote: which parts are used, and everything that can be wrong with
// them.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "evenkeel/v1/timeline.pb.h"
#include "server/convert/job/from_proto.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

// Makes a request for 45 encoder layers and 48 dense ones on 32 GPUs.
v1::EvaluatePlanRequest PlanSpecRequest(const std::string& plan) {
  v1::EvaluatePlanRequest request;
  *request.mutable_job() = Parse(MinimalText()).job();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(plan, request.mutable_plan())) << plan;
  return request;
}

std::vector<std::string> Fields(const v1::EvaluatePlanRequest& request) {
  EvaluationJob evaluation;
  std::vector<std::string> fields;
  for (const Violation& violation : EvaluationFromProto(request, &evaluation))
    fields.push_back(violation.field);
  return fields;
}
std::vector<std::string> Fields(const std::string& plan) { return Fields(PlanSpecRequest(plan)); }

EvaluationJob Converted(const v1::EvaluatePlanRequest& request) {
  EvaluationJob evaluation;
  for (const Violation& violation : EvaluationFromProto(request, &evaluation))
    ADD_FAILURE() << violation.field << ": " << violation.description;
  return evaluation;
}

const char kBare[] = R"(
    parallelism { tensor: 2 pipeline: 4 data: 4 }
    stages { layers { layer_count: 22 } }
    stages { layers { layer_count: 23 recomputed_count: 5 } }
    stages { layers { layer_count: 24 recomputed_count: 3 } }
    stages { layers { layer_count: 24 } })";

TEST(PlanSpec, ABarePlanIsEnough) {
  const EvaluationJob evaluation = Converted(PlanSpecRequest(kBare));
  const planner::PlanSpec& spec = evaluation.plan.spec;
  EXPECT_EQ(spec.parallelism, (planner::Parallelism{.tensor = 2, .pipeline = 4, .data = 4}));
  EXPECT_EQ(spec.schedule, planner::Schedule::kOneFOneB);
  ASSERT_EQ(spec.chunks.size(), 4u);
  EXPECT_EQ(spec.chunks[0].layers.size(), 1u);
  EXPECT_EQ(spec.chunks[0].layers[0].kind, planner::LayerKind::kEncoder);
  ASSERT_EQ(spec.chunks[1].layers.size(), 1u);
  EXPECT_EQ(spec.chunks[1].layers[0].count, 23);
  EXPECT_EQ(spec.chunks[1].layers[0].recomputed,
            (std::vector<planner::RecomputedLayers>{{planner::kWholeLayer, 5}}));
  EXPECT_EQ(spec.chunks[2].layers[0].kind, planner::LayerKind::kDense);
  EXPECT_EQ(spec.planned_micro_batches, 0);
}

TEST(PlanSpec, KeepsTheNumberOfPacksOfThePlanThatItComesFrom) {
  const EvaluationJob bare = Converted(PlanSpecRequest(kBare));
  const EvaluationJob planned =
      Converted(PlanSpecRequest(kBare + std::string(" predictions { micro_batches: 48 }")));
  EXPECT_EQ(planned.plan.spec.planned_micro_batches, 48);
  EXPECT_EQ(planned.plan.spec.micro_batches, 0) << "only if the planner would choose it";
  EXPECT_NE(EvaluationId(bare, 1, 2), EvaluationId(planned, 1, 2));
}

// The split is 44 | 49: the second stage also has the last encoder layer, and recomputes it first.
TEST(PlanSpec, AGroupOfNoKindBecomesTheRunsThatItCovers) {
  const EvaluationJob evaluation = Converted(PlanSpecRequest(R"(
    parallelism { tensor: 4 pipeline: 2 data: 4 }
    stages { layers { layer_count: 44 } }
    stages { layers { layer_count: 49 recomputed_count: 3 } })"));
  const auto& runs = evaluation.plan.spec.chunks[1].layers;
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].count, 1);
  EXPECT_EQ(runs[0].recomputed,
            (std::vector<planner::RecomputedLayers>{{planner::kWholeLayer, 1}}));
  EXPECT_EQ(runs[1].count, 48);
  EXPECT_EQ(runs[1].recomputed,
            (std::vector<planner::RecomputedLayers>{{planner::kWholeLayer, 2}}));
}

TEST(PlanSpec, ChunksLieInTheOrderOfTheModel) {
  const EvaluationJob evaluation = Converted(PlanSpecRequest(R"(
    parallelism { tensor: 4 pipeline: 2 data: 4 virtual_stages: 2 }
    stages { layers { layer_count: 22 } layers { kind: LAYER_KIND_DENSE layer_count: 24 chunk: 1 } }
    stages { layers { layer_count: 23 }
             layers { layer_count: 24 chunk: 1
                      recomputed { parts: [RECOMPUTE_PART_MLP, RECOMPUTE_PART_NORMS]
                                   layer_count: 7 } } })"));
  const planner::PlanSpec& spec = evaluation.plan.spec;
  EXPECT_EQ(spec.schedule, planner::Schedule::kInterleaved);
  ASSERT_EQ(spec.chunks.size(), 4u);
  EXPECT_EQ(spec.chunks[1].layers[0].count, 23);
  EXPECT_EQ(spec.chunks[2].layers[0].kind, planner::LayerKind::kDense);
  EXPECT_EQ(spec.chunks[3].layers[0].recomputed,
            (std::vector<planner::RecomputedLayers>{{planner::kMlp | planner::kNorms, 7}}));
}

TEST(PlanSpec, WithoutPipelineStagesMayBeLeftOut) {
  const EvaluationJob evaluation = Converted(PlanSpecRequest("parallelism { tensor: 8 data: 4 }"));
  ASSERT_EQ(evaluation.plan.spec.chunks.size(), 1u);
  EXPECT_EQ(evaluation.plan.spec.chunks[0].layers.size(), 2u);
}

TEST(PlanSpec, ItsBatchRuleStandsOverTheJobs) {
  v1::EvaluatePlanRequest request = PlanSpecRequest(kBare);
  request.mutable_job()->mutable_training()->set_token_cap(8192);
  request.mutable_plan()->mutable_batch_rule()->set_unit_cap(12);
  request.mutable_plan()->mutable_batch_rule()->set_packer(v1::PACKER_ISF);
  const EvaluationJob evaluation = Converted(request);
  EXPECT_EQ(evaluation.packs.training.unit_cap, 12);
  EXPECT_EQ(evaluation.packs.training.token_cap, 8192);
  EXPECT_EQ(evaluation.packs.training.packer, planner::Packer::kIsf);
  EXPECT_EQ(evaluation.job.training.unit_cap, 0);
  EXPECT_EQ(evaluation.job.training.packer, planner::Packer::kBalanced);
}

using Strings = std::vector<std::string>;

TEST(PlanSpec, DegreesThatCanNotBe) {
  EXPECT_EQ(Fields("stages { }"), Strings{"plan.parallelism"});
  EXPECT_EQ(Fields("parallelism { tensor: 2 pipeline: 4 data: 8 }"),
            (Strings{"plan.parallelism", "plan.stages"}));
  EXPECT_EQ(Fields("parallelism { tensor: -1 data: 70000 }"),
            (Strings{"plan.parallelism.tensor", "plan.parallelism.data"}));
  EXPECT_EQ(Fields("parallelism { tensor: 32 }"), Strings{"plan.parallelism.tensor"});
  EXPECT_EQ(Fields("parallelism { tensor: 2 context: 8 data: 2 expert: 2 }"),
            Strings{"plan.parallelism.expert"});
  EXPECT_EQ(Fields("parallelism { context: 32 }"), Strings{"plan.parallelism.context"});
  EXPECT_EQ(
      Fields(
          "parallelism { tensor: 8 data: 4 virtual_stages: 2 } schedule: PIPELINE_SCHEDULE_GPIPE"),
      (Strings{"plan.parallelism.virtual_stages", "plan.schedule", "plan.stages"}));
  EXPECT_EQ(Fields("parallelism { tensor: 8 data: 4 encoder_data: 4 }"),
            Strings{"plan.parallelism.encoder_data"});
  EXPECT_EQ(Fields("parallelism { tensor: 8 data: 4 encoder_data: -1 }"),
            Strings{"plan.parallelism.encoder_data"});
  EXPECT_EQ(Fields("parallelism { tensor: 8 data: 4 encoder_data: 8 }"), Strings{});
  EXPECT_EQ(Fields("parallelism { tensor: 4 context: 2 data: 4 encoder_data: 2 }"), Strings{});
  EXPECT_EQ(Fields("parallelism { tensor: 8 data: 4 } schedule: PIPELINE_SCHEDULE_INTERLEAVED"),
            Strings{"plan.schedule"});
}

TEST(PlanSpec, DegreesBelowZero) {
  const auto fields = Fields("parallelism { tensor: 1 pipeline: -1 data: 1 virtual_stages: -3 }");
  EXPECT_EQ(fields, (std::vector<std::string>{"plan.parallelism.pipeline",
                                              "plan.parallelism.virtual_stages"}));
}

TEST(PlanSpec, AllFaultsOfTheStagesAtOnce) {
  EXPECT_EQ(Fields(R"(
    parallelism { tensor: 4 pipeline: 2 data: 4 }
    stages { layers { layer_count: 44 recomputed_count: 45 } layers { kind: 99 layer_count: 1 } }
    stages { layers { kind: LAYER_KIND_HEAD layer_count: 1 } })"),
            (Strings{"plan.stages[0].layers[0].recomputed_count", "plan.stages[0].layers[1].kind",
                     "plan.stages[1].layers"}));
  EXPECT_EQ(Fields(R"(
    parallelism { tensor: 4 pipeline: 2 data: 4 }
    stages { layers { layer_count: 44 recomputed { layer_count: 50 } recomputed_count: 2 } }
    stages { layers { layer_count: 48
                      recomputed { parts: [RECOMPUTE_PART_UNSPECIFIED, 77] layer_count: 1 } } })"),
            (Strings{"plan.stages[0].layers[0].recomputed[0].layer_count",
                     "plan.stages[0].layers[0].recomputed[0].parts",
                     "plan.stages[0].layers[0].recomputed",
                     "plan.stages[1].layers[0].recomputed[0].parts[0]",
                     "plan.stages[1].layers[0].recomputed[0].parts[1]"}));
  EXPECT_EQ(Fields(R"(
    parallelism { tensor: 4 pipeline: 2 data: 4 }
    stages { layers { layer_count: 44 recomputed {
      parts: [RECOMPUTE_PART_NORMS, RECOMPUTE_PART_ALTERNATE_PRODUCTS] layer_count: 1 } } }
    stages { layers { layer_count: 48 } })"),
            (Strings{"plan.stages[0].layers[0].recomputed[0].parts"}));
}

TEST(PlanSpec, LayersMustBeThoseOfTheModel) {
  const auto two = [](const std::string& first, const std::string& second) {
    return Fields("parallelism { tensor: 4 pipeline: 2 data: 4 } stages { " + first +
                  " } stages { " + second + " }");
  };
  EXPECT_EQ(two("layers { layer_count: 44 }", "layers { layer_count: 48 }"),
            Strings{"plan.stages"});
  EXPECT_EQ(two("layers { layer_count: 44 }", "layers { layer_count: 50 }"),
            Strings{"plan.stages[1].layers[0].layer_count"});
  EXPECT_EQ(
      two("layers { kind: LAYER_KIND_ENCODER layer_count: 46 }", "layers { layer_count: 47 }"),
      Strings{"plan.stages[0].layers[0].layer_count"});
  EXPECT_EQ(two("layers { kind: LAYER_KIND_MOE layer_count: 1 }", "layers { layer_count: 92 }"),
            Strings{"plan.stages[0].layers[0].layer_count"});
  EXPECT_EQ(two("layers { layer_count: 44 chunk: 1 }", "layers { layer_count: 49 chunk: -1 }"),
            (Strings{"plan.stages[0].layers[0].chunk", "plan.stages[1].layers[0].chunk"}));
}

TEST(PlanSpec, TheRestOfTheRequest) {
  v1::EvaluatePlanRequest request = PlanSpecRequest(kBare);
  request.set_max_violations(-1);
  request.mutable_plan()->mutable_batch_rule()->set_token_cap(-1);
  EXPECT_EQ(Fields(request), (Strings{"plan.batch_rule.token_cap", "max_violations"}));
  EXPECT_EQ(Fields(v1::EvaluatePlanRequest()), (Strings{"job", "plan"}));
}

TEST(PlanSpec, FaultsOfThePlannerAreNamedInTheCallersTerms) {
  EvaluationJob evaluation = Converted(PlanSpecRequest(R"(
    parallelism { tensor: 4 pipeline: 2 data: 4 }
    stages { layers { kind: LAYER_KIND_PATCH_EMBEDDING } layers { layer_count: 44 } }
    stages { layers { layer_count: 49 } })"));
  const auto field = [&](const std::string& fault) {
    return ViolationOf(evaluation.plan, {fault, "is wrong"}, FieldPath("plan")).field;
  };
  EXPECT_EQ(field("parallelism.tensor"), "plan.parallelism.tensor");
  EXPECT_EQ(field("chunks"), "plan.stages");
  EXPECT_EQ(field("chunks[0]"), "plan.stages[0]");
  EXPECT_EQ(field("chunks[0].layers[1].count"), "plan.stages[0].layers[1].layer_count");
  EXPECT_EQ(field("chunks[1].layers[1].recomputed"), "plan.stages[1].layers[0].recomputed");
  EXPECT_EQ(field("chunks[1].layers[9]"), "plan.stages[1]");
}

// If our own plan is sent back unchanged, it is as quick as itself.
TEST(ComputeEvaluation, OurOwnPlanEvaluatesToItself) {
  v1::EvaluatePlanRequest request;
  *request.mutable_job() = Parse(MinimalText()).job();
  const planner::Job job = JobOf(MinimalText());
  ComputedPlan best;
  std::vector<std::string> faults;
  ASSERT_EQ(ComputePlan(job, PlanId(job), {}, &best, &faults), ComputeEnd::kDone);
  ASSERT_TRUE(request.mutable_plan()->ParseFromString(best.plan_bytes));
  const EvaluationJob evaluation = Converted(request);
  const ComputedEvaluation found =
      ComputeEvaluation(evaluation, best.facts.unit_cap, best.facts.token_cap);
  ASSERT_EQ(found.end, ComputeEnd::kDone);
  EXPECT_EQ(SlowerBy(found.plan.facts, best.facts), 0.0);
  v1::Plan evaluated;
  ASSERT_TRUE(evaluated.ParseFromString(found.plan.plan_bytes));
  const v1::Plan& ours = request.plan();
  EXPECT_EQ(evaluated.plan_id(), "");
  ASSERT_EQ(evaluated.stages_size(), ours.stages_size());
  for (int s = 0; s < ours.stages_size(); ++s)
    EXPECT_EQ(evaluated.stages(s).DebugString(), ours.stages(s).DebugString());
  EXPECT_EQ(evaluated.predictions().DebugString(), ours.predictions().DebugString());
  EXPECT_EQ(evaluated.batch_rule().dist_ratio_tokens(), ours.batch_rule().dist_ratio_tokens());
  EXPECT_EQ(EvaluationId(evaluation, 1, 2), EvaluationId(evaluation, 1, 2));
  EXPECT_NE(EvaluationId(evaluation, 1, 2), EvaluationId(evaluation, 1, 3));
}

// This is the schedule with the most operations. The packs differ, so that nothing is shortened.
TEST(ComputeEvaluation, TheLongestTimelineFitsIntoAMessage) {
  v1::EvaluatePlanRequest request = PlanSpecRequest(R"(
    parallelism { tensor: 4 pipeline: 4 data: 2 }
    schedule: PIPELINE_SCHEDULE_ZERO_BUBBLE
    stages { layers { layer_count: 22 recomputed_count: 2 } }
    stages { layers { layer_count: 23 recomputed_count: 2 } }
    stages { layers { layer_count: 24 recomputed_count: 2 } }
    stages { layers { layer_count: 24 recomputed_count: 2 } }
    batch_rule { unit_cap: 20 token_cap: 6656 })");
  request.set_include_timeline(true);
  request.mutable_job()->mutable_training()->set_global_batch_samples(40'500);
  const EvaluationJob evaluation = Converted(request);
  const ComputedEvaluation found = ComputeEvaluation(evaluation, 1, 1);
  ASSERT_EQ(found.end, ComputeEnd::kDone) << found.violations.front().description;
  v1::Timeline timeline;
  ASSERT_TRUE(timeline.ParseFromString(found.plan.timeline_bytes));
  const int64_t cells = int64_t{timeline.micro_batches()} * timeline.stages_size();
  EXPECT_GT(cells, kTimelineCellsAtMost * 95 / 100);
  EXPECT_EQ(timeline.ranks_size(), 2);
  EXPECT_LT(found.plan.timeline_bytes.size(), size_t{7} << 19);  // 3.5 MiB

  EvaluationJob other = evaluation;
  other.include_timeline = false;
  EXPECT_NE(EvaluationId(evaluation, 1, 2), EvaluationId(other, 1, 2));
  EXPECT_EQ(ComputeEvaluation(other, 1, 1).plan.timeline_bytes, "");
}

TEST(ComputeEvaluation, AMisfitKeepsItsStagesAndNamesTheShortest) {
  const EvaluationJob evaluation = Converted(PlanSpecRequest("parallelism { data: 32 }"));
  const ComputedEvaluation found = ComputeEvaluation(evaluation, 20, 6656);
  ASSERT_EQ(found.end, ComputeEnd::kDone);
  EXPECT_FALSE(found.plan.facts.fits);
  EXPECT_EQ(SlowerBy(found.plan.facts, {.fits = true, .gpu_days = 1}), std::nullopt);
  v1::Plan evaluated;
  ASSERT_TRUE(evaluated.ParseFromString(found.plan.plan_bytes));
  ASSERT_EQ(evaluated.stages_size(), 1);
  EXPECT_LT(evaluated.stages(0).free_bytes(), 0);
  EXPECT_EQ(evaluated.misfit().short_bytes(), -evaluated.stages(0).free_bytes());
  EXPECT_GT(evaluated.predictions().step().total_seconds(), 0);
  EXPECT_EQ(evaluated.misfit().text().find("tried"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::server
