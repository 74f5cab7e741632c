#include "server/planning/offers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

v1::PlanJobRequest Request(const std::string& pools, const std::string& rest = "") {
  return Parse("job { model { name: 'llama3-8b' } cluster { " + pools + " } " + rest + " }");
}

OfferJobs Converted(const v1::PlanJobRequest& request) {
  OfferJobs offers;
  for (const Violation& violation : OffersFromProto(request, &offers))
    ADD_FAILURE() << violation.field << ": " << violation.description;
  return offers;
}

struct Answered {
  ComputedPlan plan;
  v1::PlanJobResponse left_out;
};

Answered Computed(const OfferJobs& offers, size_t bytes_at_most = kOfferBytesAtMost) {
  Answered answered;
  std::vector<std::string> faults;
  EXPECT_EQ(ComputeOffers(offers, PlanId(offers), {}, &answered.plan, &faults, bytes_at_most),
            ComputeEnd::kDone);
  EXPECT_TRUE(answered.left_out.ParseFromString(answered.plan.left_out_bytes));
  return answered;
}

const char kTwoPools[] = R"(
    pools { gpu_type: "a100-sxm-80gb" gpu_count: 8 price_per_gpu_hour: 1 }
    pools { gpu_type: "h100-sxm-80gb" gpu_counts: [8, 16] price_per_gpu_hour: 9 })";

TEST(Offers, OneOfferIsTheJobItself) {
  const OfferJobs offers = Converted(Parse(MinimalText()));
  EXPECT_FALSE(offers.several());
  EXPECT_EQ(PlanId(offers), PlanId(JobOf(MinimalText())));
}

TEST(Offers, EachOfferIsPlannedAsIfItWereAlone) {
  const OfferJobs offers = Converted(Request(kTwoPools));
  ASSERT_EQ(offers.offers.size(), 3u);
  const Answered answered = Computed(offers);
  ASSERT_EQ(answered.plan.offers.size(), 3u);
  EXPECT_EQ(answered.left_out.offers_left_out_size(), 0);
  const planner::Job alone =
      JobOf(Request(R"(pools { gpu_type: "H100-SXM-80GB" gpu_count: 16 price_per_gpu_hour: 9 })"));
  ComputedPlan single;
  std::vector<std::string> faults;
  ASSERT_EQ(ComputePlan(alone, PlanId(alone), {}, &single, &faults), ComputeEnd::kDone);
  const ComputedPlan& best = answered.plan.offers.front();
  EXPECT_EQ(best.plan_id, PlanId(alone));
  EXPECT_EQ(best.plan_bytes, single.plan_bytes);
  EXPECT_EQ(answered.plan.plan_bytes, single.plan_bytes);
  EXPECT_EQ(answered.plan.plan_id, PlanId(offers));
  EXPECT_NE(answered.plan.plan_id, best.plan_id);
}

TEST(Offers, TheObjectiveSaysWhichIsBest) {
  const auto best = [](const std::string& objective) {
    const OfferJobs offers = Converted(Request(kTwoPools, "objective { " + objective + " }"));
    const ComputedPlan plan = Computed(offers).plan;
    return plan.facts.gpu_type + " " + std::to_string(plan.facts.gpu_count);
  };
  EXPECT_EQ(best("kind: OBJECTIVE_KIND_STEP_TIME"), "h100-sxm-80gb 16");
  EXPECT_EQ(best("kind: OBJECTIVE_KIND_COST"), "a100-sxm-80gb 8");
  EXPECT_EQ(best("kind: OBJECTIVE_KIND_GPU_DAYS").substr(0, 4), "h100");
}

TEST(Offers, IdsTellObjectivesAndOffersApart) {
  const auto id = [](const std::string& pools, const std::string& rest = "") {
    return PlanId(Converted(Request(pools, rest)));
  };
  EXPECT_EQ(id(kTwoPools), id(kTwoPools));
  EXPECT_NE(id(kTwoPools), id(kTwoPools, "objective { kind: OBJECTIVE_KIND_COST }"));
  const std::string pool = "pools { gpu_type: 'a100-sxm-80gb' gpu_counts: ";
  EXPECT_NE(id(pool + "[8, 16] }"), id(pool + "[8, 32] }"));
  EXPECT_EQ(id(pool + "[8] }"), id("pools { gpu_type: 'a100-sxm-80gb' gpu_count: 8 }"));
}

TEST(Offers, FewestGpusStopsAtTheFirstThatMeetsTheDeadline) {
  const auto answered = [](double deadline) {
    return Computed(
        Converted(Request("pools { gpu_type: 'h100-sxm-80gb' gpu_counts: [64, 32, 8] }",
                          "objective { kind: OBJECTIVE_KIND_FEWEST_GPUS deadline_seconds: " +
                              std::to_string(deadline) + " }")));
  };
  const Answered easy = answered(1e9);
  EXPECT_EQ(easy.plan.facts.gpu_count, 8);
  ASSERT_EQ(easy.left_out.offers_left_out_size(), 2);
  EXPECT_EQ(easy.left_out.offers_left_out(0).gpu_count(), 64);
  EXPECT_EQ(easy.left_out.offers_left_out(0).reason(), v1::LEFT_OUT_REASON_NOT_NEEDED);
  // No offer can meet it. The offer with the most GPUs is planned nonetheless.
  const Answered hopeless = answered(1);
  EXPECT_EQ(hopeless.plan.facts.gpu_count, 64);
  ASSERT_EQ(hopeless.left_out.offers_left_out_size(), 2);
  EXPECT_EQ(hopeless.left_out.offers_left_out(1).gpu_count(), 8);
  EXPECT_EQ(hopeless.left_out.offers_left_out(1).reason(), v1::LEFT_OUT_REASON_TOO_FEW_GPUS);
}

TEST(Offers, ConstraintsMayExcludeOffersButNotAll) {
  const std::string counts = "pools { gpu_type: 'a100-sxm-80gb' gpu_counts: [4, 8] }";
  const OfferJobs offers =
      Converted(Request(counts, "constraints { tensor_parallel { min: 8 max: 8 } }"));
  EXPECT_FALSE(offers.offers[0].possible);
  const Answered answered = Computed(offers);
  EXPECT_EQ(answered.plan.facts.gpu_count, 8);
  ASSERT_EQ(answered.left_out.offers_left_out_size(), 1);
  EXPECT_EQ(answered.left_out.offers_left_out(0).gpu_type(), "a100-sxm-80gb");
  EXPECT_EQ(answered.left_out.offers_left_out(0).reason(), v1::LEFT_OUT_REASON_NO_DEGREES);

  OfferJobs none;
  const auto violations =
      OffersFromProto(Request(counts, "constraints { data_parallel { min: 5 max: 5 } }"), &none);
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations[0].field.substr(0, 15), "job.constraints");
}

TEST(Offers, AFullAnswerLeavesTheRestToGetPlan) {
  const Answered answered = Computed(Converted(Request(kTwoPools)), 1);
  ASSERT_EQ(answered.plan.offers.size(), 3u);
  EXPECT_TRUE(answered.plan.offers[0].in_answer);
  EXPECT_FALSE(answered.plan.offers[1].in_answer);
  ASSERT_EQ(answered.left_out.offers_left_out_size(), 2);
  EXPECT_EQ(answered.left_out.offers_left_out(0).reason(), v1::LEFT_OUT_REASON_ANSWER_FULL);
  EXPECT_EQ(answered.left_out.offers_left_out(0).plan_id().substr(0, 5), "plan-");
}

TEST(Offers, StoppedAndTooMany) {
  const OfferJobs offers = Converted(Request(kTwoPools));
  ComputedPlan plan;
  std::vector<std::string> faults;
  const planner::PlanHooks stop = {.stop = [] { return true; }, .enter = {}};
  EXPECT_EQ(ComputeOffers(offers, "plan-x", stop, &plan, &faults), ComputeEnd::kStopped);

  v1::PlanJobRequest many = Request("pools { gpu_type: 'a100-sxm-80gb' }");
  v1::GpuPool* pool = many.mutable_job()->mutable_cluster()->mutable_pools(0);
  for (int i = 1; i <= 40; ++i) pool->add_gpu_counts(8 * i);
  *many.mutable_job()->mutable_cluster()->add_pools() = *pool;
  OfferJobs unused;
  const auto violations = OffersFromProto(many, &unused);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "job.cluster.pools");
}

TEST(ReliabilityAndSizes, ReachThePlan) {
  v1::PlanJobRequest request = Request(
      "pools { gpu_type: 'a100-sxm-80gb' gpu_count: 16 }",
      "reliability { node_mean_time_between_failures_seconds: 1e6 checkpoint_bytes_per_second: "
      "1e9 restart_seconds: 300 }");
  request.set_compare_sizes(true);
  const planner::Job job = JobOf(request);
  ComputedPlan computed;
  std::vector<std::string> faults;
  ASSERT_EQ(ComputePlan(job, PlanId(job), {}, &computed, &faults), ComputeEnd::kDone);
  v1::Plan plan;
  ASSERT_TRUE(plan.ParseFromString(computed.plan_bytes));
  const v1::Goodput& goodput = plan.predictions().goodput();
  EXPECT_GT(goodput.useful_share(), 0.5);
  EXPECT_LT(goodput.useful_share(), 1);
  EXPECT_GT(goodput.finish_seconds(), plan.predictions().epoch_seconds());
  EXPECT_GT(goodput.checkpoint_bytes(), plan.subject().parameter_count());
  EXPECT_DOUBLE_EQ(goodput.mean_time_between_failures_seconds(), 5e5);
  ASSERT_EQ(plan.other_sizes_size(), 4);
  EXPECT_EQ(plan.other_sizes(0).change(), v1::SIZE_CHANGE_NODE_LESS);
  EXPECT_EQ(plan.other_sizes(0).gpu_count(), 8);
  EXPECT_EQ(plan.other_sizes(1).gpu_count(), 24);
  EXPECT_TRUE(plan.other_sizes(1).fits());
  EXPECT_GT(plan.other_sizes(1).plan().gpu_days(), 0);
  v1::PlanJobRequest plain = request;
  plain.set_compare_sizes(false);
  EXPECT_NE(PlanId(JobOf(plain)), PlanId(job));
  plain.mutable_job()->clear_reliability();
  EXPECT_NE(PlanId(JobOf(plain)), PlanId(job));
}

}  // namespace
}  // namespace evenkeel::server
