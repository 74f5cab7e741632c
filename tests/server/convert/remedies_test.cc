// A remedy's job is that of the request which makes its change.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/explain/apply_remedy.h"
#include "planner/explain/other_sizes.h"
#include "server/convert/job/execution_from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

std::string Text(int gpus, const std::string& training) {
  return R"(job { model { name: "llama3-8b" }
                  cluster { pools { gpu_type: "h100-sxm-80gb" gpu_count: )" +
         std::to_string(gpus) + "} } training {" + training + "} }";
}

void ExpectSame(const planner::Training& a, const planner::Training& b) {
  v1::Execution one, two;
  ExecutionToProto(a.execution, &one);
  ExecutionToProto(b.execution, &two);
  EXPECT_EQ(one.DebugString(), two.DebugString());
  EXPECT_EQ(a.execution.frees_gradients, b.execution.frees_gradients);
  EXPECT_EQ(a.execution.update_bytes_per_parameter, b.execution.update_bytes_per_parameter);
  EXPECT_EQ(a.zero_stage, b.zero_stage);
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.distributed_gradients_fp32, b.distributed_gradients_fp32);
}

TEST(RemediesTest, AnotherStageHasItsOwnDefaults) {
  const auto check = [](const std::string& trainer, const char* from, const char* to,
                        planner::RemedyKind kind) {
    const std::string text = "trainer { name: \"" + trainer + "\" } zero_stage: ";
    const planner::Job job = JobOf(Text(8, text + from));
    ExpectSame(planner::ApplyRemedy(job, {.kind = kind}).training,
               JobOf(Text(8, text + to)).training);
  };
  check("deepspeed", "ZERO_STAGE_1", "ZERO_STAGE_3", planner::RemedyKind::kShardWeights);
  check("huggingface-trainer", "ZERO_STAGE_0", "ZERO_STAGE_1",
        planner::RemedyKind::kShardOptimizer);
  check("huggingface-trainer", "ZERO_STAGE_0", "ZERO_STAGE_3", planner::RemedyKind::kShardWeights);
  check("megatron-core", "ZERO_STAGE_1", "ZERO_STAGE_3", planner::RemedyKind::kShardWeights);
}

TEST(RemediesTest, WhatTheJobSetsStays) {
  const std::string text =
      "trainer { name: \"deepspeed\" } execution { host_launch_seconds: 0.0001 } zero_stage: ";
  ExpectSame(planner::ApplyRemedy(JobOf(Text(8, text + "ZERO_STAGE_1")),
                                  {.kind = planner::RemedyKind::kShardWeights})
                 .training,
             JobOf(Text(8, text + "ZERO_STAGE_3")).training);
}

// One GPU shares nothing, unless the request gives a stage.
TEST(RemediesTest, MoreGpusShare) {
  for (const std::string trainer : {"huggingface-trainer", "deepspeed", "megatron-core"}) {
    for (const std::string stage :
         {"", " zero_stage: ZERO_STAGE_0", " execution { autocast: true }"}) {
      const std::string text = "trainer { name: \"" + trainer + "\" }" + stage;
      const planner::Job four = ApplyRemedy(
          JobOf(Text(1, text)), {.kind = planner::RemedyKind::kMoreGpus, .gpu_count = 4});
      SCOPED_TRACE(text);
      EXPECT_EQ(four.cluster.gpu_count, 4);
      ExpectSame(four.training, JobOf(Text(4, text)).training);
    }
  }
}

TEST(RemediesTest, GradientsFollowThePrecision) {
  for (const std::string given : {"", " gradient_precision: GRADIENT_PRECISION_16BIT",
                                  " gradient_precision: GRADIENT_PRECISION_FP32"}) {
    for (const std::string trainer : {"megatron-core", "nemo", "fsdp"}) {
      const std::string text = "trainer { name: \"" + trainer + "\" }" + given + " precision: ";
      const planner::Remedy remedy{.kind = planner::RemedyKind::kLowerPrecision,
                                   .precision = planner::Precision::kFp8Block};
      SCOPED_TRACE(text);
      ExpectSame(ApplyRemedy(JobOf(Text(8, text + "PRECISION_FP16")), remedy).training,
                 JobOf(Text(8, text + "PRECISION_FP8_BLOCK")).training);
    }
  }
}

// The rows of other precisions are such jobs, too.
TEST(RemediesTest, OtherPrecisionsHaveTheirGradients) {
  planner::Job job = JobOf(Text(8, "precision: PRECISION_FP16"));
  ASSERT_FALSE(job.training.distributed_gradients_fp32);
  int seen = 0;
  const auto plan = [&](const planner::Job& other) {
    ++seen;
    EXPECT_EQ(other.training.distributed_gradients_fp32,
              other.training.precision != planner::Precision::k16Bit);
    return std::optional<planner::Alternative>();
  };
  planner::OtherPrecisions(job, plan, {});
  EXPECT_GE(seen, 2);
}

// A request under autocast has no precision below 16 bits, and no gradients of 16.
TEST(RemediesTest, AutocastExcludesOtherFormats) {
  const planner::Job job = JobOf(Text(8, "execution { autocast: true }"));
  int seen = 0;
  const auto plan = [&](const planner::Job&) {
    ++seen;
    return std::optional<planner::Alternative>();
  };
  planner::OtherPrecisions(job, plan, {});
  EXPECT_EQ(seen, 0);
}

// The rows of other shardings are such jobs, too.
TEST(RemediesTest, OtherShardingsAreThoseOfARequest) {
  const std::string autocast = " execution { autocast: true }";
  for (const auto& [trainer, more] :
       std::vector<std::pair<std::string, std::string>>{{"deepspeed", ""},
                                                        {"huggingface-trainer", ""},
                                                        {"megatron-core", ""},
                                                        {"deepspeed", autocast},
                                                        {"huggingface-trainer", autocast},
                                                        {"my-script", autocast}}) {
    const std::string text = "trainer { name: \"" + trainer + "\" }" + more;
    std::vector<planner::Training> seen;
    const auto plan = [&](const planner::Job& other) {
      seen.push_back(other.training);
      return std::optional<planner::Alternative>();
    };
    planner::OtherShardings(JobOf(Text(16, text + " zero_stage: ZERO_STAGE_1")), plan, {});
    ASSERT_EQ(seen.size(), 6u) << trainer;  // four stages, three of them inside nodes too
    for (const planner::Training& other : seen) {
      const int stage = static_cast<int>(other.zero_stage);
      std::string asked = text + " zero_stage: ZERO_STAGE_" + std::to_string(stage);
      if (other.zero_group > 0) asked += " zero_group: " + std::to_string(other.zero_group);
      SCOPED_TRACE(asked);
      const planner::Training of_request = JobOf(Text(16, asked)).training;
      ExpectSame(other, of_request);
      EXPECT_EQ(other.zero_group, of_request.zero_group);
    }
  }
}

}  // namespace
}  // namespace evenkeel::server
