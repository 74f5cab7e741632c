#include "server/planning/compute_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/plan.pb.h"
#include "planner/job.h"
#include "planner/make_plan.h"
#include "server/planning/fingerprint.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

ComputedPlan Compute(const std::string& text) {
  const planner::Job job = JobOf(text);
  ComputedPlan computed;
  std::vector<std::string> faults;
  EXPECT_EQ(ComputePlan(job, PlanId(job), {}, &computed, &faults), ComputeEnd::kDone);
  for (const std::string& fault : faults) ADD_FAILURE() << fault;
  return computed;
}

TEST(ComputePlan, FactsAreThoseOfThePlan) {
  const ComputedPlan computed = Compute(MinimalText());
  v1::Plan plan;
  ASSERT_TRUE(plan.ParseFromString(computed.plan_bytes));
  EXPECT_EQ(plan.plan_id(), computed.plan_id);
  EXPECT_EQ(computed.plan_id, PlanId(JobOf(MinimalText())));
  EXPECT_EQ(computed.facts.model, "internvl-chat-v1.5");
  EXPECT_EQ(computed.facts.gpu_type, "a100-sxm-80gb");
  EXPECT_EQ(computed.facts.gpu_count, 32);
  EXPECT_EQ(computed.facts.fits, !plan.has_misfit());
  EXPECT_EQ(computed.facts.step_seconds, plan.predictions().step().total_seconds());
  EXPECT_EQ(computed.facts.gpu_days, plan.predictions().gpu_days());
}

TEST(ComputePlan, SameJobSameBytes) {
  EXPECT_EQ(Compute(MinimalText()).plan_bytes, Compute(MinimalText()).plan_bytes);
}

TEST(ComputePlan, StopsWhenAsked) {
  const planner::Job job = JobOf(MinimalText());
  ComputedPlan computed;
  std::vector<std::string> faults;
  EXPECT_EQ(
      ComputePlan(job, PlanId(job), {.stop = [] { return true; }, .enter = {}}, &computed, &faults),
      ComputeEnd::kStopped);
  EXPECT_TRUE(computed.plan_bytes.empty());
}

}  // namespace
}  // namespace evenkeel::server
