// Tests what is kept in host memory: requests, refusals and what answers repeat.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/job.h"
#include "planner/plan.h"
#include "server/convert/from_proto.h"
#include "server/convert/to_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

using planner::Job;

v1::PlanJobRequest Request(const std::string& training, const std::string& pool = "") {
  return Parse(R"(job {
      model { name: "llama3.1-8b" }
      dataset { histogram { llm_tokens: 4096 sample_count: 9000 } }
      cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 32 )" +
               pool + " } } training { " + training + " } }");
}

std::string ViolationsOf(const std::string& training, const std::string& pool = "") {
  Job job;
  std::string lines;
  for (const Violation& v : JobFromProto(Request(training, pool), &job))
    lines += v.field + ": " + v.description + "\n";
  return lines;
}

TEST(OffloadTest, IsUnsetPinnedOrChosen) {
  EXPECT_FALSE(JobOf(Request("")).training.offload.asked);
  const planner::OptimizerOffload chosen = JobOf(Request("offload { }")).training.offload;
  EXPECT_TRUE(chosen.asked);
  EXPECT_TRUE(chosen.choose);
  const planner::OptimizerOffload pinned =
      JobOf(Request("offload { optimizer_ratio: 0.25 }")).training.offload;
  EXPECT_TRUE(pinned.asked);
  EXPECT_FALSE(pinned.choose);
  EXPECT_EQ(pinned.ratio, 0.25);
  EXPECT_EQ(pinned.charged_ratio, 0.25);
  EXPECT_EQ(ViolationsOf("offload { optimizer_ratio: 0 }"), "");
}

TEST(OffloadTest, RefusesWhatCannotBe) {
  EXPECT_NE(ViolationsOf("offload { optimizer_ratio: 1.5 }")
                .find("job.training.offload.optimizer_ratio: must be 0 to 1"),
            std::string::npos);
  EXPECT_NE(ViolationsOf("offload { optimizer_ratio: nan }").find("optimizer_ratio"),
            std::string::npos);
  EXPECT_NE(ViolationsOf("offload { } optimizer: OPTIMIZER_LION").find("OPTIMIZER_ADAM"),
            std::string::npos);
  EXPECT_NE(ViolationsOf("offload { } group_selection: GROUP_SELECTION_EXACT")
                .find("GROUP_SELECTION_ONE"),
            std::string::npos);
  EXPECT_NE(ViolationsOf("offload { } zero_stage: ZERO_STAGE_0").find("only with ZERO_STAGE_1"),
            std::string::npos);
  EXPECT_NE(ViolationsOf(R"(offload { } trainer { name: "torchtitan" })")
                .find("offloads no optimizer that this version can plan"),
            std::string::npos);
}

TEST(OffloadTest, DeepSpeedHasSharesAtStage3Alone) {
  const std::string trainer = R"(trainer { name: "deepspeed" } )";
  EXPECT_NE(ViolationsOf(trainer + "offload { optimizer_ratio: 0.5 }").find("must be 0 or 1"),
            std::string::npos);
  EXPECT_EQ(ViolationsOf(trainer + "offload { optimizer_ratio: 1 }"), "");
  EXPECT_EQ(ViolationsOf(trainer + "offload { }"), "");
  EXPECT_EQ(ViolationsOf(trainer + "zero_stage: ZERO_STAGE_3 offload { optimizer_ratio: 0.5 }"),
            "");
}

TEST(OffloadTest, HostIsGivenOrOfTheType) {
  const std::string host =
      "host_memory_bytes: 1099511627776 host_link_bytes_per_second: 20e9 "
      "host_memory_bytes_per_second: 3e11";
  const planner::Cluster given = JobOf(Request("offload { }", host)).cluster;
  EXPECT_EQ(given.host_memory_bytes, int64_t{1} << 40);
  EXPECT_EQ(given.host_link_bytes_per_second, 20e9);
  EXPECT_EQ(given.host_memory_bytes_per_second, 3e11);
  EXPECT_EQ(JobOf(Request("offload { }")).cluster.host_memory_bytes, 0);
  // Without offload, memory binds and rates would change nothing.
  EXPECT_EQ(ViolationsOf("", "host_memory_bytes: 1099511627776"), "");
  EXPECT_NE(ViolationsOf("", "host_link_bytes_per_second: 20e9")
                .find("job.cluster.pools[0].host_link_bytes_per_second: must be unset"),
            std::string::npos);
  EXPECT_NE(ViolationsOf("", "host_memory_bytes_per_second: 3e11").find("must be unset"),
            std::string::npos);
  EXPECT_NE(ViolationsOf("offload { }", "host_memory_bytes: 5").find("host_memory_bytes"),
            std::string::npos);
}

TEST(OffloadTest, IsRepeatedAndReported) {
  const Job job =
      JobOf(Request("offload { optimizer_ratio: 0.5 }", "host_memory_bytes: 1099511627776"));
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
  PlanToProto(JobOf(Request("offload { }")), plan, "plan-0", &alone);
  EXPECT_FALSE(alone.offload().has_step_without_seconds());
  EXPECT_TRUE(alone.subject().has_offload());
  EXPECT_FALSE(alone.subject().offload().has_optimizer_ratio());
}

}  // namespace
}  // namespace evenkeel::server
