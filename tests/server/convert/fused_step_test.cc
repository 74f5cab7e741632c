// Tests updates inside the backward pass: requests, refusals and what answers repeat.
#include <gtest/gtest.h>

#include <string>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/job.h"
#include "server/convert/answer/to_proto.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

v1::PlanJobRequest FusedRequest(const std::string& training, const std::string& more = "",
                                const std::string& model = R"(name: "llama3.1-8b")") {
  return Parse("job { model { " + model + R"( }
      dataset { histogram { llm_tokens: 4096 sample_count: 9000 } }
      cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 32 } }
      training { fused_step: true )" +
               training + " } " + more + " }");
}

std::string StepViolations(const v1::PlanJobRequest& request) {
  planner::Job job;
  std::string lines;
  for (const Violation& v : JobFromProto(request, &job))
    lines += v.field + ": " + v.description + "\n";
  return lines;
}

void ExpectStepRefused(const v1::PlanJobRequest& request, const std::string& line) {
  EXPECT_NE(StepViolations(request).find(line), std::string::npos) << StepViolations(request);
}

const char* const kTitan = R"(trainer { name: "torchtitan" } global_batch_samples: 32 )";

TEST(FusedStepTest, IsTheTrainers) {
  EXPECT_TRUE(JobOf(FusedRequest(kTitan)).training.fused_step);
  ExpectStepRefused(
      FusedRequest("global_batch_samples: 32"),
      "job.training.fused_step: must be false: Megatron-Core updates all layers after "
      "the backward pass; accepted with trainers pytorch-fsdp, torchtitan, torchtune, "
      "unlimited, generic");
  ExpectStepRefused(FusedRequest(R"(trainer { name: "generic" } global_batch_samples: 32)"),
                    "only with ZERO_STAGE_3");
  EXPECT_EQ(
      StepViolations(FusedRequest(
          R"(trainer { name: "generic" } zero_stage: ZERO_STAGE_3 global_batch_samples: 32)")),
      "");
}

TEST(FusedStepTest, RefusesWhatItExcludes) {
  const std::string titan = kTitan;
  ExpectStepRefused(FusedRequest(titan + "optimizer: OPTIMIZER_MUON"),
                    "job.training.fused_step: must be");
  ExpectStepRefused(FusedRequest(titan + "offload { weights: true }"), "with an offload");
  ExpectStepRefused(FusedRequest(titan + "group_selection: GROUP_SELECTION_EXACT"),
                    "GROUP_SELECTION_ONE");
  ExpectStepRefused(FusedRequest(titan, "constraints { pipeline_parallel { min: 2 } }"),
                    "job.constraints.pipeline_parallel: must allow 1");
  ExpectStepRefused(
      FusedRequest(titan, "constraints { expert_parallel { min: 2 } }", R"(name: "qwen3-30b-a3b")"),
      "job.constraints.expert_parallel: must allow 1");
  ExpectStepRefused(FusedRequest(titan, "",
                                 R"(name: "llama3.1-8b" language_model_train_mode: TRAIN_MODE_LORA
                           lora { rank: 8 })"),
                    "with adapters");
}

TEST(FusedStepTest, RefusesABatchOfSeveralMicroBatches) {
  const std::string titan = R"(trainer { name: "torchtitan" } )";
  ExpectStepRefused(
      FusedRequest(titan + "micro_batch_samples: 2 global_batch_samples: 512"),
      "job.training.global_batch_samples: must be smaller: training.fused_step allows "
      "one micro-batch per rank and step, but this makes at least 8 on each of 32 "
      "ranks; accepted: for example 64");
  EXPECT_EQ(StepViolations(FusedRequest(titan + "micro_batch_samples: 2 global_batch_samples: 64")),
            "");
  ExpectStepRefused(FusedRequest(titan + "token_cap: 8192 global_batch_samples: 512"),
                    "accepted: for example 64");
  EXPECT_EQ(StepViolations(FusedRequest(titan + "token_cap: 8192 global_batch_samples: 64")), "");
  // Caps that are derived may be long enough.
  EXPECT_EQ(StepViolations(FusedRequest(titan + "global_batch_samples: 512")), "");
}

TEST(FusedStepTest, IsRepeated) {
  v1::Plan plan;
  PlanToProto(JobOf(FusedRequest(kTitan)), planner::Plan(), "id", &plan);
  EXPECT_TRUE(plan.subject().fused_step());
}

}  // namespace
}  // namespace evenkeel::server
