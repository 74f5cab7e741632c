// Tests a job at several sizes: the jobs of the sizes, what is refused, and the answer made of
// plans.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/curve.pb.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "planner/cost/goodput.h"
#include "server/convert/answer/curve_to_proto.h"
#include "server/convert/job/curve_from_proto.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

const char kJob[] = R"(
    model { name: 'llama3-8b' } training { global_batch_samples: 64 } )";
const char kCurvePool[] = "pools { gpu_type: 'h100-sxm-80gb' }";

v1::PlanCurveRequest CurveRequest(const std::string& rest, const std::string& pools = kCurvePool,
                                  const std::string& job = "") {
  v1::PlanCurveRequest request;
  const std::string text =
      "job {" + std::string(kJob) + "cluster { " + pools + " } " + job + " } " + rest;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  return request;
}

CurveJobs Converted(const v1::PlanCurveRequest& request) {
  CurveJobs curve;
  for (const Violation& violation : CurveFromProto(request, &curve))
    ADD_FAILURE() << violation.field << ": " << violation.description;
  return curve;
}

// Returns "FIELD: DESCRIPTION" of each violation, a line each.
std::string Refused(const v1::PlanCurveRequest& request) {
  CurveJobs curve;
  std::string text;
  for (const Violation& violation : CurveFromProto(request, &curve))
    text += violation.field + ": " + violation.description + "\n";
  return text;
}

TEST(CurveFromProto, EachSizeIsTheJobOfPlanJob) {
  const CurveJobs curve = Converted(CurveRequest("nodes { min: 1 max: 5 step: 2 }"));
  ASSERT_EQ(curve.sizes.size(), 3u);
  const int64_t nodes[] = {1, 3, 5};
  for (size_t i = 0; i < 3; ++i) {
    const CurveSize& size = curve.sizes[i];
    EXPECT_EQ(size.nodes, nodes[i]);
    EXPECT_EQ(size.global_batch_samples, 64);
    const std::string alone =
        "job {" + std::string(kJob) +
        "cluster { pools { gpu_type: 'h100-sxm-80gb' gpu_count: " + std::to_string(8 * nodes[i]) +
        " } } }";
    EXPECT_EQ(PlanId(size.job), PlanId(JobOf(alone)));
  }
  EXPECT_FALSE(curve.short_search);
}

TEST(CurveFromProto, CountsAreSortedAndPoolsMayHaveTheirOwn) {
  const CurveJobs curve = Converted(
      CurveRequest("nodes { counts: [4, 1] } nodes { counts: 2 }",
                   "pools { gpu_type: 'h100-sxm-80gb' } "
                   "pools { gpu_type: 'a100-sxm-80gb' gpus_per_node: 4 price_per_gpu_hour: 2 }"));
  ASSERT_EQ(curve.sizes.size(), 3u);
  EXPECT_EQ(curve.pools, 2u);
  EXPECT_EQ(curve.sizes[0].gpu_count, 8);
  EXPECT_EQ(curve.sizes[1].gpu_count, 32);
  EXPECT_EQ(curve.sizes[2].gpu_count, 8);
  EXPECT_EQ(curve.sizes[2].job.cluster.gpu.name, "a100-sxm-80gb");
  EXPECT_EQ(curve.sizes[2].job.cluster.gpus_per_node, 4);
}

TEST(CurveFromProto, NodesAreThoseOfTheGpuType) {
  const CurveJobs curve =
      Converted(CurveRequest("nodes { counts: [1, 18] }", "pools { gpu_type: 'gb300' }"));
  ASSERT_EQ(curve.sizes.size(), 2u);
  EXPECT_EQ(curve.sizes[0].gpu_count, 4);
  EXPECT_EQ(curve.sizes[1].gpu_count, 72);
}

TEST(CurveFromProto, TheBatchFollowsTheNodesIfAsked) {
  const CurveJobs curve = Converted(
      CurveRequest("nodes { counts: [1, 3, 8] } batch: CURVE_BATCH_PER_NODE batch_nodes: 3"));
  ASSERT_EQ(curve.sizes.size(), 3u);
  // 64 / 3 = 21.33; 64 x 8 / 3 = 170.67.
  EXPECT_EQ(curve.sizes[0].job.training.global_batch_samples, 21);
  EXPECT_EQ(curve.sizes[1].job.training.global_batch_samples, 64);
  EXPECT_EQ(curve.sizes[2].job.training.global_batch_samples, 171);
  EXPECT_EQ(curve.sizes[2].global_batch_samples, 171);
}

TEST(CurveFromProto, BadSizesNameTheField) {
  const auto refused = [](const std::string& rest, const std::string& pools = kCurvePool) {
    return Refused(CurveRequest(rest, pools));
  };
  EXPECT_EQ(refused(""),
            "nodes: required: the numbers of nodes, as {min: 1, max: 64} or {counts: [1, 2, 4]}\n");
  EXPECT_EQ(refused("nodes { min: 4 max: 2 }"),
            "nodes[0].max: must be at least min (4), but is 2\n");
  EXPECT_TRUE(refused("nodes { max: 2 }").starts_with("nodes[0].min: "));
  EXPECT_TRUE(refused("nodes { min: 1 max: 2 step: -1 }").starts_with("nodes[0].step: "));
  EXPECT_TRUE(refused("nodes { min: 1 counts: 2 }").starts_with("nodes[0].min: must be unset"));
  EXPECT_TRUE(refused("nodes { counts: [2, 2] }").starts_with("nodes[0].counts[1]: must differ"));
  EXPECT_TRUE(refused("nodes { counts: [0] }").starts_with("nodes[0].counts[0]: "));
  EXPECT_TRUE(refused("nodes { min: 1 max: 257 }")
                  .starts_with("nodes: must be at most 256 sizes over all pools, but are 257"));
  EXPECT_TRUE(refused("nodes { counts: 8193 }").starts_with("nodes[0]: 8193 nodes of 8 GPUs"));
  EXPECT_TRUE(refused("nodes { counts: 1 } nodes { counts: 2 }")
                  .starts_with("nodes: must be one range for all pools"));
  EXPECT_EQ(refused("nodes { counts: 1 }", "pools { gpu_type: 'h100-sxm-80gb' gpu_count: 8 }"),
            "job.cluster.pools[0].gpu_count: must be unset: `nodes` says at which sizes to plan\n");
}

TEST(CurveFromProto, BadTermsNameTheField) {
  const auto refused = [](const std::string& rest, const std::string& job = "") {
    return Refused(CurveRequest("nodes { counts: 2 } " + rest, kCurvePool, job));
  };
  EXPECT_TRUE(refused("batch: CURVE_BATCH_PER_NODE").starts_with("batch_nodes: "));
  EXPECT_EQ(refused("batch_nodes: 2"),
            "batch_nodes: must be unset unless batch is CURVE_BATCH_PER_NODE\n");
  EXPECT_TRUE(refused("checkpoint_bytes_per_second: 1").starts_with("checkpoint_bytes_per_second"));
  EXPECT_TRUE(refused("restart_seconds: -1").starts_with("restart_seconds: "));
  EXPECT_TRUE(refused("label: '\\n'").starts_with("label: "));
  EXPECT_TRUE(refused("min_calibration_revision: -1").starts_with("min_calibration_revision: "));
  v1::PlanCurveRequest request = CurveRequest("nodes { counts: 2 }");
  request.set_batch(static_cast<v1::CurveBatch>(9));
  request.set_search(static_cast<v1::CurveSearch>(9));
  const std::string both = Refused(request);
  EXPECT_NE(both.find("batch: unknown value 9"), std::string::npos) << both;
  EXPECT_NE(both.find("search: unknown value 9"), std::string::npos) << both;
  EXPECT_TRUE(Refused(v1::PlanCurveRequest()).starts_with("job: required"));
  v1::PlanCurveRequest model = CurveRequest("nodes { counts: 2 }");
  model.mutable_job()->mutable_model()->set_name("llama9");
  EXPECT_TRUE(Refused(model).starts_with("job.model.name: ")) << Refused(model);
  v1::PlanCurveRequest large =
      CurveRequest("nodes { counts: 100 } batch: CURVE_BATCH_PER_NODE batch_nodes: 1");
  large.mutable_job()->mutable_training()->set_global_batch_samples(1'000'000);
  EXPECT_TRUE(Refused(large).starts_with("batch_nodes: 100 nodes would have a global batch of"));
}

TEST(CurveFromProto, SizesWithoutDegreesAreKeptUnlessAllAre) {
  const std::string five = "constraints { data_parallel { min: 5 max: 5 } }";
  const CurveJobs curve = Converted(CurveRequest("nodes { counts: [1, 5] }", kCurvePool, five));
  ASSERT_EQ(curve.sizes.size(), 2u);
  EXPECT_FALSE(curve.sizes[0].possible());
  EXPECT_NE(curve.sizes[0].impossible.find("job.constraints"), std::string::npos);
  EXPECT_TRUE(curve.sizes[1].possible());
  EXPECT_TRUE(Refused(CurveRequest("nodes { counts: [1, 2] }", kCurvePool, five))
                  .starts_with("job.constraints"));
}

// Makes a plan with these figures; `stages` stages of TP `tensor`, DP `data`.
std::string PlanOf(int tensor, int stages, int data, double step, double samples) {
  v1::Plan plan;
  plan.mutable_subject()->set_epochs(2);
  plan.mutable_subject()->set_zero_stage(v1::ZERO_STAGE_1);
  plan.mutable_parallelism()->set_tensor(tensor);
  plan.mutable_parallelism()->set_pipeline(stages);
  plan.mutable_parallelism()->set_data(data);
  plan.set_schedule(v1::PIPELINE_SCHEDULE_1F1B);
  v1::Predictions* predictions = plan.mutable_predictions();
  predictions->mutable_step()->set_total_seconds(step);
  predictions->mutable_step_interval()->set_low_ratio(0.9);
  predictions->mutable_step_interval()->set_high_ratio(1.1);
  predictions->mutable_step_interval()->set_coverage_ratio(0.8);
  predictions->set_samples_per_step(samples);
  predictions->set_llm_tokens_per_second(1000 * samples / step);
  predictions->set_epoch_seconds(100 * step);
  predictions->set_gpu_days(step);
  for (int s = 0; s < stages; ++s) {
    v1::Stage* stage = plan.add_stages();
    stage->add_layers()->set_layer_count(32 / stages);
    stage->mutable_memory()->set_total_bytes(70 + s);
    stage->mutable_memory()->set_weights_bytes(2'000'000'000);
    stage->mutable_memory()->set_optimizer_bytes(1'000'000'000);
    stage->set_capacity_bytes(80);
  }
  return plan.SerializeAsString();
}

v1::Curve CurveOf(const std::string& sizes, const std::vector<std::string>& plans,
                  const std::string& rest = "") {
  const CurveJobs curve = Converted(CurveRequest("nodes { counts: " + sizes + " } " + rest));
  std::vector<CurvePlan> made;
  for (const std::string& plan : plans)
    made.push_back({"plan-" + std::to_string(made.size()), plan});
  v1::PlanCurveResponse response;
  EXPECT_TRUE(CurveToProto(curve, made, &response));
  EXPECT_EQ(response.curves_size(), 1);
  return response.curves(0);
}

TEST(CurveToProto, ComparesEachSizeWithThePrevious) {
  const v1::Curve curve = CurveOf(
      "[1, 2, 4]", {PlanOf(8, 1, 1, 8, 64), PlanOf(8, 1, 2, 5, 64), PlanOf(8, 1, 4, 2, 64)});
  ASSERT_EQ(curve.points_size(), 3);
  const v1::CurvePoint &first = curve.points(0), &second = curve.points(1), &last = curve.points(2);
  EXPECT_EQ(first.state(), v1::CURVE_POINT_STATE_FITS);
  EXPECT_DOUBLE_EQ(first.scaling_efficiency_ratio(), 1);
  EXPECT_FALSE(first.has_next_node());
  EXPECT_FALSE(first.has_resize());
  EXPECT_DOUBLE_EQ(first.samples_per_second(), 8);
  EXPECT_DOUBLE_EQ(first.step_low_seconds(), 7.2);
  EXPECT_DOUBLE_EQ(first.step_high_seconds(), 8.8);
  EXPECT_DOUBLE_EQ(first.training_seconds(), 1600);
  EXPECT_EQ(first.peak_memory_bytes(), 70);
  EXPECT_EQ(first.parallelism_text(), "TP 8 x PP 1 x DP 1");
  EXPECT_DOUBLE_EQ(second.scaling_efficiency_ratio(), 12.8 / 2 / 8);
  EXPECT_DOUBLE_EQ(second.next_node().added_llm_tokens_per_second(), 4800);
  EXPECT_DOUBLE_EQ(second.next_node().marginal_efficiency_ratio(), 0.6);
  EXPECT_DOUBLE_EQ(last.next_node().added_samples_per_second(), (32 - 12.8) / 2);
  EXPECT_DOUBLE_EQ(last.next_node().added_gpu_days(), -1.5);
  EXPECT_DOUBLE_EQ(last.next_node().saved_seconds(), 300);
  EXPECT_EQ(last.next_node().previous_nodes(), 2);
  EXPECT_FALSE(second.dominated() || last.dominated());
  EXPECT_FALSE(second.overlaps_previous() || last.overlaps_previous());
}

TEST(CurveToProto, SaysWhichSizesGainNothingAndWhichCannotBeToldApart) {
  // Two nodes are slower than one; four are hardly faster.
  const v1::Curve curve = CurveOf(
      "[1, 2, 4]", {PlanOf(8, 1, 1, 8, 64), PlanOf(8, 1, 2, 9, 64), PlanOf(8, 1, 4, 7.9, 64)});
  EXPECT_TRUE(curve.points(1).dominated());
  EXPECT_EQ(curve.points(1).dominated_by_plan_id(), "plan-0");
  EXPECT_TRUE(curve.points(1).overlaps_previous());
  EXPECT_LT(curve.points(1).next_node().added_llm_tokens_per_second(), 0);
  EXPECT_EQ(curve.points(1).resize().break_even_seconds(), 0) << "it never pays";
  EXPECT_FALSE(curve.points(2).dominated());
  EXPECT_TRUE(curve.points(2).overlaps_previous());
}

TEST(CurveToProto, SizesThatDoNotFitAreNoPreviousSize) {
  v1::Plan misfit;
  misfit.mutable_misfit()->set_text("too large");
  const v1::Curve curve = CurveOf(
      "[1, 2, 4]", {PlanOf(8, 1, 1, 8, 64), misfit.SerializeAsString(), PlanOf(8, 1, 4, 2, 64)});
  EXPECT_EQ(curve.points(1).state(), v1::CURVE_POINT_STATE_MISFIT);
  EXPECT_EQ(curve.points(1).reason(), "too large");
  EXPECT_EQ(curve.points(1).step_seconds(), 0);
  EXPECT_EQ(curve.points(2).next_node().previous_nodes(), 1);
}

TEST(CurveToProto, AChangeOfSizeCostsWhatItMoves) {
  const v1::Curve curve =
      CurveOf("[1, 2, 4]", {PlanOf(8, 1, 1, 8, 64), PlanOf(8, 1, 2, 4, 64), PlanOf(4, 2, 4, 2, 64)},
              "checkpoint_bytes_per_second: 2e9 restart_seconds: 30");
  const CurveJobs jobs = Converted(CurveRequest("nodes { counts: 1 }"));
  const planner::Job& job = jobs.sizes[0].job;
  const int64_t bytes = planner::CheckpointBytes(job.model, job.training);
  const v1::ResizeCost& cost = curve.points(1).resize();
  EXPECT_EQ(cost.checkpoint_bytes(), bytes);
  EXPECT_EQ(cost.written_bytes_per_gpu(), (bytes + 7) / 8);
  EXPECT_EQ(cost.read_bytes_per_gpu(), 3'000'000'000);
  EXPECT_DOUBLE_EQ(cost.save_seconds(), static_cast<double>(bytes) / 2e9);
  EXPECT_DOUBLE_EQ(cost.load_seconds(), 8 * 3e9 / 2e9);
  EXPECT_DOUBLE_EQ(cost.total_seconds(), cost.save_seconds() + cost.load_seconds() + 30);
  EXPECT_DOUBLE_EQ(cost.break_even_seconds(), cost.total_seconds() * 2);
  EXPECT_FALSE(cost.reshards_weights()) << "only data parallelism grew";
  EXPECT_TRUE(cost.reshards_optimizer()) << "ZeRO-1 has more shards";
  EXPECT_TRUE(curve.points(2).resize().reshards_weights());
}

TEST(CurveToProto, FiguresAreThoseOfThePlan) {
  const CurveJobs curve = Converted(CurveRequest("nodes { counts: [1, 2] }"));
  std::vector<ComputedPlan> computed(2);
  std::vector<CurvePlan> made(2);
  std::vector<std::string> faults;
  for (size_t i = 0; i < 2; ++i) {
    made[i].plan_id = PlanId(curve.sizes[i].job);
    ASSERT_EQ(ComputePlan(curve.sizes[i].job, made[i].plan_id, {}, &computed[i], &faults),
              ComputeEnd::kDone);
    made[i].plan_bytes = computed[i].plan_bytes;
  }
  v1::PlanCurveResponse response;
  ASSERT_TRUE(CurveToProto(curve, made, &response));
  for (size_t i = 0; i < 2; ++i) {
    const v1::CurvePoint& point = response.curves(0).points(static_cast<int>(i));
    v1::Plan plan;
    ASSERT_TRUE(plan.ParseFromString(computed[i].plan_bytes));
    EXPECT_EQ(point.plan_id(), plan.plan_id());
    EXPECT_EQ(point.gpu_count(), plan.subject().gpu_count());
    EXPECT_EQ(point.step_seconds(), plan.predictions().step().total_seconds());
    EXPECT_EQ(point.gpu_days(), plan.predictions().gpu_days());
    EXPECT_EQ(point.lower_bound_seconds(), plan.proof().lower_bound_seconds());
    EXPECT_LT(point.step_low_seconds(), point.step_seconds());
    EXPECT_GT(point.step_high_seconds(), point.step_seconds());
    EXPECT_FALSE(point.estimated());
  }
  EXPECT_EQ(response.interval_coverage_ratio(), 0.8);
  EXPECT_EQ(response.resize_figures(2).basis(), v1::BASIS_ASSUMED);
  EXPECT_EQ(response.resize_figures(3).basis(), v1::BASIS_ASSUMED);
}

// A short search finds a plan that fits; its bound holds for the plan of a whole search too.
TEST(CurveToProto, AShortSearchBoundsThePlan) {
  const CurveJobs curve = Converted(CurveRequest("nodes { counts: [1, 3] }"));
  for (const CurveSize& size : curve.sizes) {
    ComputedPlan whole, estimate;
    std::vector<std::string> faults;
    const std::string id = PlanId(size.job);
    ASSERT_EQ(ComputePlan(size.job, id, {}, &whole, &faults), ComputeEnd::kDone);
    ASSERT_EQ(ComputeShortPlan(size.job, id, {}, &estimate, &faults), ComputeEnd::kDone);
    v1::Plan plan, short_plan;
    ASSERT_TRUE(plan.ParseFromString(whole.plan_bytes));
    ASSERT_TRUE(short_plan.ParseFromString(estimate.plan_bytes));
    EXPECT_FALSE(short_plan.has_misfit());
    EXPECT_LE(short_plan.proof().lower_bound_seconds(), plan.proof().step_seconds());
    EXPECT_LE(plan.predictions().gpu_days(), short_plan.predictions().gpu_days());
    EXPECT_EQ(short_plan.ladder_size(), 0);
    EXPECT_EQ(short_plan.launch_size(), 0);
  }
}

}  // namespace
}  // namespace evenkeel::server
