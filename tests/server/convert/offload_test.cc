// Tests what is kept in host memory: requests, refusals and what answers repeat.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/job.h"
#include "planner/plan.h"
#include "server/convert/answer/to_proto.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

using planner::Job;

v1::PlanJobRequest OffloadRequest(const std::string& training, const std::string& pool = "") {
  return Parse(R"(job {
      model { name: "llama3.1-8b" }
      dataset { histogram { llm_tokens: 4096 sample_count: 9000 } }
      cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 32 )" +
               pool + " } } training { " + training + " } }");
}

std::string OffloadViolations(const std::string& training, const std::string& pool = "") {
  Job job;
  std::string lines;
  for (const Violation& v : JobFromProto(OffloadRequest(training, pool), &job))
    lines += v.field + ": " + v.description + "\n";
  return lines;
}

TEST(OffloadTest, AnEvaluatedPlanSaysWhatItOffloads) {
  v1::EvaluatePlanRequest request;
  *request.mutable_job() = OffloadRequest(
                               "offload { choose_activation_layers: true "
                               "choose_optimizer_ratio: true } "
                               "trainer { name: \"unlimited\" }")
                               .job();
  v1::Plan* plan = request.mutable_plan();
  plan->mutable_parallelism()->set_data(32);
  plan->add_stages()->add_layers()->set_layer_count(32);
  EvaluationJob evaluation;
  EXPECT_FALSE(EvaluationFromProto(request, &evaluation).empty());  // nothing says how much
  plan->mutable_offload()->set_optimizer_ratio(0.25);
  plan->mutable_offload()->set_activation_layers(8);
  EXPECT_TRUE(EvaluationFromProto(request, &evaluation).empty());
  EXPECT_EQ(evaluation.job.training.offload.ratio, 0.25);
  EXPECT_EQ(evaluation.job.training.activations.layers, 8);
}

TEST(OffloadTest, IsUnsetPinnedOrChosen) {
  EXPECT_FALSE(JobOf(OffloadRequest("")).training.offload.asked);
  const planner::OptimizerOffload chosen = JobOf(OffloadRequest("offload { }")).training.offload;
  EXPECT_TRUE(chosen.asked);
  EXPECT_TRUE(chosen.choose);
  const planner::OptimizerOffload pinned =
      JobOf(OffloadRequest("offload { optimizer_ratio: 0.25 }")).training.offload;
  EXPECT_TRUE(pinned.asked);
  EXPECT_FALSE(pinned.choose);
  EXPECT_EQ(pinned.ratio, 0.25);
  EXPECT_EQ(pinned.charged_ratio, 0.25);
  EXPECT_EQ(OffloadViolations("offload { optimizer_ratio: 0 }"), "");
}

TEST(OffloadTest, RefusesWhatCannotBe) {
  EXPECT_NE(OffloadViolations("offload { optimizer_ratio: 1.5 }")
                .find("job.training.offload.optimizer_ratio: must be 0 to 1"),
            std::string::npos);
  EXPECT_NE(OffloadViolations("offload { optimizer_ratio: nan }").find("optimizer_ratio"),
            std::string::npos);
  EXPECT_NE(OffloadViolations("offload { } optimizer: OPTIMIZER_LION").find("OPTIMIZER_ADAM"),
            std::string::npos);
  EXPECT_NE(OffloadViolations("offload { } group_selection: GROUP_SELECTION_EXACT")
                .find("GROUP_SELECTION_ONE"),
            std::string::npos);
  EXPECT_NE(
      OffloadViolations("offload { } zero_stage: ZERO_STAGE_0").find("only with ZERO_STAGE_1"),
      std::string::npos);
  EXPECT_NE(OffloadViolations(R"(offload { } trainer { name: "torchtitan" })")
                .find("offloads no optimizer that this version can plan"),
            std::string::npos);
}

TEST(OffloadTest, DataWithLongSamplesHaveOneGroup) {
  v1::PlanJobRequest request = OffloadRequest("");
  v1::Histogram& histogram = *request.mutable_job()->mutable_dataset()->mutable_histogram();
  histogram.add_llm_tokens(131072);
  histogram.add_sample_count(3);
  EXPECT_EQ(JobOf(request).training.group_selection, planner::GroupSelection::kExact);
  request.mutable_job()->mutable_training()->mutable_offload();
  EXPECT_EQ(JobOf(request).training.group_selection, planner::GroupSelection::kOne);
}

TEST(OffloadTest, DeepSpeedHasSharesAtStage3Alone) {
  const std::string trainer = R"(trainer { name: "deepspeed" } )";
  EXPECT_NE(OffloadViolations(trainer + "offload { optimizer_ratio: 0.5 }").find("must be 0 or 1"),
            std::string::npos);
  EXPECT_EQ(OffloadViolations(trainer + "offload { optimizer_ratio: 1 }"), "");
  EXPECT_EQ(OffloadViolations(trainer + "offload { }"), "");
  EXPECT_EQ(
      OffloadViolations(trainer + "zero_stage: ZERO_STAGE_3 offload { optimizer_ratio: 0.5 }"), "");
}

TEST(OffloadTest, HostIsGivenOrOfTheType) {
  const std::string host =
      "host_memory_bytes: 1099511627776 host_link_bytes_per_second: 20e9 "
      "host_memory_bytes_per_second: 3e11";
  const planner::Cluster given = JobOf(OffloadRequest("offload { }", host)).cluster;
  EXPECT_EQ(given.host_memory_bytes, int64_t{1} << 40);
  EXPECT_EQ(given.host_link_bytes_per_second, 20e9);
  EXPECT_EQ(given.host_memory_bytes_per_second, 3e11);
  EXPECT_EQ(JobOf(OffloadRequest("offload { }")).cluster.host_memory_bytes, 0);
  // Without offload, memory binds and rates would change nothing.
  EXPECT_EQ(OffloadViolations("", "host_memory_bytes: 1099511627776"), "");
  EXPECT_NE(OffloadViolations("", "host_link_bytes_per_second: 20e9")
                .find("job.cluster.pools[0].host_link_bytes_per_second: must be unset"),
            std::string::npos);
  EXPECT_NE(OffloadViolations("", "host_memory_bytes_per_second: 3e11").find("must be unset"),
            std::string::npos);
  EXPECT_NE(OffloadViolations("offload { }", "host_memory_bytes: 5").find("host_memory_bytes"),
            std::string::npos);
}

TEST(OffloadTest, IsRepeatedAndReported) {
  const Job job =
      JobOf(OffloadRequest("offload { optimizer_ratio: 0.5 }", "host_memory_bytes: 1099511627776"));
  planner::Plan plan;
  plan.offload = {.ratio = 0.5,
                  .gpu_bytes = 10,
                  .host_bytes = 20,
                  .host_capacity_bytes = 30,
                  .added_ns = 1'000'000'000,
                  .step_ns = 2'000'000'000,
                  .step_without_ns = 3'000'000'000};
  v1::Plan out;
  PlanToProto(job, plan, "plan-0", &out);
  EXPECT_EQ(out.subject().offload().optimizer_ratio(), 0.5);
  EXPECT_EQ(out.subject().host_memory_bytes(), int64_t{1} << 40);
  EXPECT_EQ(out.offload().optimizer_ratio(), 0.5);
  EXPECT_EQ(out.offload().gpu_bytes(), 10);
  EXPECT_EQ(out.offload().host_bytes(), 20);
  EXPECT_EQ(out.offload().host_capacity_bytes(), 30);
  EXPECT_EQ(out.offload().added_seconds(), 1);
  EXPECT_EQ(out.offload().step_seconds(), 2);
  EXPECT_EQ(out.offload().step_without_seconds(), 3);
  plan.offload->step_without_ns = 0;
  v1::Plan alone;
  PlanToProto(JobOf(OffloadRequest("offload { }")), plan, "plan-0", &alone);
  EXPECT_FALSE(alone.offload().has_step_without_seconds());
  EXPECT_TRUE(alone.subject().has_offload());
  EXPECT_FALSE(alone.subject().offload().has_optimizer_ratio());
}

TEST(OffloadTest, WeightsTakeAllStatesAlong) {
  const std::string titan = R"(trainer { name: "torchtitan" } )";
  const Job job = JobOf(OffloadRequest(titan + "offload { weights: true }"));
  EXPECT_TRUE(job.training.offload.weights);
  EXPECT_FALSE(job.training.offload.choose);
  EXPECT_EQ(job.training.offload.ratio, 1);
  EXPECT_EQ(job.training.offload.charged_ratio, 1);
  EXPECT_EQ(OffloadViolations(titan + "offload { weights: true optimizer_ratio: 1 }"), "");
  EXPECT_NE(OffloadViolations(titan + "offload { weights: true optimizer_ratio: 0.5 }")
                .find("optimizer_ratio: must be unset or 1"),
            std::string::npos);
  EXPECT_NE(OffloadViolations("offload { weights: true }").find("offload.weights: must be false"),
            std::string::npos);
  EXPECT_NE(OffloadViolations(R"(trainer { name: "unlimited" } offload { weights: true })")
                .find("only with ZERO_STAGE_3"),
            std::string::npos);
  EXPECT_NE(OffloadViolations(titan + "offload { weights: true } optimizer: OPTIMIZER_LION")
                .find("OPTIMIZER_ADAM"),
            std::string::npos);
  planner::Plan plan;
  plan.offload = {.ratio = 1, .weights = true};
  v1::Plan out;
  PlanToProto(job, plan, "plan-0", &out);
  EXPECT_TRUE(out.subject().offload().weights());
  EXPECT_TRUE(out.offload().weights());
}

planner::ActivationOffload Activations(const std::string& training) {
  return JobOf(OffloadRequest(training)).training.activations;
}

TEST(OffloadTest, ActivationsAreUnsetPinnedOrChosen) {
  EXPECT_FALSE(Activations("").asked);
  EXPECT_FALSE(Activations("offload { }").asked);
  const Job pinned = JobOf(OffloadRequest("offload { activation_layers: 12 }"));
  EXPECT_TRUE(pinned.training.activations.asked);
  EXPECT_EQ(pinned.training.activations.layers, 12);
  EXPECT_EQ(pinned.training.activations.charged_layers, 12);
  EXPECT_EQ(pinned.constraints.recompute, planner::RecomputePolicy::kForbidden);
  EXPECT_EQ(pinned.constraints.pipeline_parallel.max, 1);
  // The optimizer stays where nothing is said of it.
  EXPECT_TRUE(pinned.training.offload.asked);
  EXPECT_FALSE(pinned.training.offload.choose);
  EXPECT_EQ(pinned.training.offload.ratio, 0);
  const Job chosen =
      JobOf(OffloadRequest("offload { optimizer_ratio: 0.5 choose_activation_layers: true }"));
  EXPECT_TRUE(chosen.training.activations.choose);
  EXPECT_EQ(chosen.constraints.recompute, planner::RecomputePolicy::kOneSetting);
  EXPECT_EQ(chosen.training.offload.ratio, 0.5);
  EXPECT_TRUE(Activations("offload { activation_layers: 0 }").asked);
}

TEST(OffloadTest, AShareIsChosenBesideActivations) {
  const std::string both = "choose_optimizer_ratio: true ";
  const Job job = JobOf(OffloadRequest("offload { " + both + "choose_activation_layers: true }"));
  EXPECT_TRUE(job.training.offload.choose);
  EXPECT_TRUE(job.training.activations.choose);
  planner::Plan plan;
  plan.offload = {.ratio = 0.5, .activations_asked = true, .activation_layers = 2};
  v1::Plan out;
  PlanToProto(job, plan, "plan-0", &out);
  EXPECT_TRUE(out.subject().offload().choose_optimizer_ratio());
  EXPECT_FALSE(out.subject().offload().has_optimizer_ratio());
  const Job pinned = JobOf(OffloadRequest("offload { " + both + "activation_layers: 12 }"));
  EXPECT_TRUE(pinned.training.offload.choose);
  EXPECT_EQ(pinned.training.activations.layers, 12);
  EXPECT_TRUE(JobOf(OffloadRequest("offload { " + both + "}")).training.offload.choose);
  EXPECT_NE(OffloadViolations("offload { optimizer_ratio: 0.5 " + both + "}")
                .find("choose_optimizer_ratio: must be false: optimizer_ratio is set"),
            std::string::npos);
  EXPECT_NE(
      OffloadViolations(R"(trainer { name: "torchtitan" } offload { weights: true )" + both + "}")
          .find("choose_optimizer_ratio: must be false: weights"),
      std::string::npos);
}

TEST(OffloadTest, RefusesActivationsThatCannotLeave) {
  const auto refuses = [](const std::string& training, const std::string& text) {
    EXPECT_NE(OffloadViolations(training).find(text), std::string::npos)
        << training << ": " << OffloadViolations(training);
  };
  refuses("offload { activation_layers: 32 }", "offload.activation_layers: must be 0 to 31");
  refuses("offload { activation_layers: 2000 }", "activation_layers: must be 0 to 1024");
  // With a layer offloaded there is no pipeline, so data-parallel ranks take the rest.
  v1::PlanJobRequest request = OffloadRequest("offload { activation_layers: 1 }");
  v1::Constraints* constraints = request.mutable_job()->mutable_constraints();
  constraints->mutable_data_parallel()->set_max(1);
  constraints->mutable_context_parallel()->set_max(1);
  Job job;
  const std::vector<Violation> violations = JobFromProto(request, &job);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "job.constraints");
  EXPECT_NE(violations[0].description.find("PP 1, DP 1"), std::string::npos);
  refuses("offload { activation_layers: -1 }", "activation_layers: must be 0 to 1024");
  refuses("offload { activation_layers: 1 choose_activation_layers: true }",
          "choose_activation_layers: must be false");
  refuses(R"(offload { choose_activation_layers: true } trainer { name: "torchtitan" })",
          "torchtitan offloads no activations that this version can plan");
  refuses(R"(offload { activation_layers: 5 } trainer { name: "torchtune" })",
          "must be 0 or 32: the model has 32 language layers, and torchtune offloads all or none");
  refuses("offload { activation_layers: 1 } group_selection: GROUP_SELECTION_EXACT",
          "GROUP_SELECTION_ONE");
  const std::string held = R"(} constraints { recompute: RECOMPUTE_POLICY_FULL )";
  refuses("offload { activation_layers: 1 } " + held, "job.constraints.recompute: does not go");
  refuses("offload { activation_layers: 1 } } constraints { pipeline_parallel { min: 2 } ",
          "job.constraints.pipeline_parallel: must allow 1");
  refuses(
      "offload { activation_layers: 1 } } constraints { schedule: PIPELINE_SCHEDULE_INTERLEAVED ",
      "job.constraints.schedule: not yet");
  EXPECT_EQ(OffloadViolations(R"(offload { activation_layers: 32 } trainer { name: "torchtune" })"),
            "");
  EXPECT_EQ(OffloadViolations(
                R"(offload { activation_layers: 32 } trainer { name: "unlimited" } )" + held),
            "");
  EXPECT_EQ(OffloadViolations("offload { activation_layers: 9 } optimizer: OPTIMIZER_LION"), "");
}

TEST(OffloadTest, ActivationsAreRepeatedAndReported) {
  planner::Plan plan;
  plan.offload = {.activations_asked = true,
                  .activation_layers = 7,
                  .activation_bytes = 10,
                  .activation_host_bytes = 80,
                  .activation_added_ns = 4'000'000'000};
  v1::Plan out;
  PlanToProto(JobOf(OffloadRequest("offload { activation_layers: 7 }")), plan, "plan-0", &out);
  EXPECT_EQ(out.subject().offload().activation_layers(), 7);
  EXPECT_EQ(out.subject().offload().optimizer_ratio(), 0);
  // The answer repeats the caller's settings, without those that the offload adds.
  EXPECT_EQ(out.subject().constraints().recompute(), v1::RECOMPUTE_POLICY_ONE_SETTING);
  EXPECT_FALSE(out.subject().constraints().has_pipeline_parallel());
  EXPECT_EQ(out.offload().activation_layers(), 7);
  EXPECT_EQ(out.offload().activation_bytes(), 10);
  EXPECT_EQ(out.offload().activation_host_bytes(), 80);
  EXPECT_EQ(out.offload().activation_added_seconds(), 4);
  v1::Plan chosen;
  PlanToProto(JobOf(OffloadRequest("offload { choose_activation_layers: true }")), plan, "plan-0",
              &chosen);
  EXPECT_TRUE(chosen.subject().offload().choose_activation_layers());
  EXPECT_FALSE(chosen.subject().offload().has_activation_layers());
}

}  // namespace
}  // namespace evenkeel::server
