// Tests the fields of a job about long context: packing groups, the curriculum, and DeepSpeed as a
// trainer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/job.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

using planner::GroupSelection;
using planner::Training;
using Lines = std::vector<std::string>;

// Makes a request for a text model. `bins` are those of the histogram.
v1::PlanJobRequest LongContextRequest(const std::string& training, const std::string& bins) {
  return Parse(R"(job {
      model { name: "llama3.1-8b" }
      dataset { histogram { )" +
               bins + R"( } }
      cluster { pools { gpu_type: "h100-sxm-80gb" gpu_count: 32 } }
      training { )" +
               training + " } }");
}

const char kLong[] = "llm_tokens: [300, 131072] sample_count: [9000, 10]";
const char kShort[] = "llm_tokens: [300, 8000] sample_count: [9000, 10]";
const char kAlike[] = "llm_tokens: [9000, 16384] sample_count: [900, 900]";

Training LongContextTraining(const std::string& training, const std::string& bins = kLong) {
  return JobOf(LongContextRequest(training, bins)).training;
}

// Returns violations as "field: description".
Lines LongContextViolations(const std::string& training) {
  planner::Job job;
  Lines lines;
  for (const Violation& v : JobFromProto(LongContextRequest(training, kLong), &job))
    lines.push_back(v.field + ": " + v.description);
  return lines;
}

TEST(LongContextTest, GroupsAreLookedForWhereSomeSamplesAreMuchLongerThanMost) {
  EXPECT_EQ(LongContextTraining("").group_selection, GroupSelection::kExact);
  EXPECT_EQ(LongContextTraining("", kShort).group_selection, GroupSelection::kOne);
  EXPECT_EQ(LongContextTraining("", kAlike).group_selection, GroupSelection::kOne);
  EXPECT_EQ(LongContextTraining("token_cap: 131072").group_selection, GroupSelection::kOne);
}

TEST(LongContextTest, GroupsAreThoseAskedFor) {
  EXPECT_EQ(LongContextTraining("group_selection: GROUP_SELECTION_ONE").group_selection,
            GroupSelection::kOne);
  EXPECT_EQ(LongContextTraining("group_selection: GROUP_SELECTION_PUBLISHED").group_selection,
            GroupSelection::kPublished);
  EXPECT_EQ(LongContextTraining("group_selection: GROUP_SELECTION_EXACT", kShort).group_selection,
            GroupSelection::kExact);
}

TEST(LongContextTest, WhatOnlyGroupsHaveAsksForThem) {
  EXPECT_EQ(LongContextTraining("group_lengths: 512", kShort).group_selection,
            GroupSelection::kExact);
  EXPECT_EQ(LongContextTraining("curriculum_steps: 9", kShort).group_selection,
            GroupSelection::kExact);
  EXPECT_EQ(LongContextTraining("curriculum_steps: 0", kShort).group_selection,
            GroupSelection::kOne);
  EXPECT_EQ(LongContextViolations("group_lengths: 8192 group_selection: GROUP_SELECTION_ONE"),
            Lines({"job.training.group_lengths: must be unset with GROUP_SELECTION_ONE, which "
                   "plans no packing groups"}));
  EXPECT_EQ(LongContextViolations("curriculum_steps: 9 group_selection: GROUP_SELECTION_ONE"),
            Lines({"job.training.curriculum_steps: must be unset with GROUP_SELECTION_ONE, which "
                   "plans no packing groups"}));
  EXPECT_EQ(LongContextViolations("group_lengths: 8192 token_cap: 9"),
            Lines({"job.training.token_cap: must be unset where packing groups are asked for: "
                   "they have their own lengths, from group_lengths"}));
}

TEST(LongContextTest, TheOrderMayExchangePacksOverTheEpochWhereThereAreGroups) {
  const int64_t one = LongContextTraining("group_selection: GROUP_SELECTION_ONE").order_window;
  EXPECT_EQ(one, 16);
  EXPECT_GT(LongContextTraining("").order_window, 1'000'000);
  EXPECT_EQ(LongContextTraining("order_window: 4").order_window, 4);
}

TEST(LongContextTest, LengthsAndCurriculum) {
  const Training training =
      LongContextTraining("group_lengths: [8192, 131072] curriculum_steps: 0");
  EXPECT_EQ(training.group_lengths, (std::vector<int64_t>{8192, 131072}));
  EXPECT_EQ(training.curriculum_steps, 0);
  EXPECT_EQ(LongContextTraining("").curriculum_steps, -1);
  EXPECT_TRUE(LongContextTraining("").group_lengths.empty());
}

TEST(LongContextTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(LongContextViolations("group_selection: GROUP_SELECTION_EXACT token_cap: 9"),
            Lines({"job.training.token_cap: must be unset where packing groups are asked for: they "
                   "have their own lengths, from group_lengths"}));
  EXPECT_EQ(LongContextViolations("group_lengths: [1024, 1024]"),
            Lines({"job.training.group_lengths: must ascend"}));
  const Lines found = LongContextViolations("group_lengths: [16777217, 127] curriculum_steps: -1");
  ASSERT_EQ(found.size(), 2u);  // one violation for the whole list, with their number
  std::string both = found[0] + found[1];
  EXPECT_NE(both.find("job.training.group_lengths[0]: "), std::string::npos) << both;
  EXPECT_NE(both.find("job.training.curriculum_steps: "), std::string::npos) << both;
  std::string many;
  for (int i = 1; i <= 13; ++i) many += "group_lengths: " + std::to_string(1024 * i) + " ";
  EXPECT_EQ(LongContextViolations(many),
            Lines({"job.training.group_lengths: must have at most 12 lengths, "
                   "but has 13"}));
}

TEST(LongContextTest, DeepSpeedHasItsOwnDefaults) {
  const Training training = LongContextTraining("framework: TRAINING_FRAMEWORK_DEEPSPEED");
  EXPECT_EQ(training.trainer->name, "deepspeed");
  EXPECT_EQ(training.zero_stage, planner::ZeroStage::kOptimizer);
  const planner::Execution& execution = training.execution;
  EXPECT_FALSE(execution.fused_kernels);
  EXPECT_FALSE(execution.fused_loss);
  EXPECT_FALSE(execution.fused_weight_gradients);
  EXPECT_EQ(execution.attention, planner::AttentionKernel::kFlash2);
  EXPECT_EQ(execution.bucket_bytes, 3'000'000'000);
  EXPECT_FALSE(execution.overlap_gradient_reduce);
  EXPECT_FALSE(execution.overlap_weight_gather);
}

TEST(LongContextTest, DeepSpeedOverlapsWhereItShardsWeights) {
  const planner::Execution execution =
      LongContextTraining("framework: TRAINING_FRAMEWORK_DEEPSPEED zero_stage: ZERO_STAGE_3")
          .execution;
  EXPECT_EQ(execution.bucket_bytes, 1'000'000'000);
  EXPECT_TRUE(execution.overlap_gradient_reduce);
  EXPECT_TRUE(execution.overlap_weight_gather);
}

TEST(LongContextTest, WhatIsSaidOfTheTrainerCounts) {
  const planner::Execution execution = LongContextTraining(
                                           "framework: TRAINING_FRAMEWORK_DEEPSPEED execution { "
                                           "context_exchange: CONTEXT_EXCHANGE_RING }")
                                           .execution;
  EXPECT_EQ(execution.context, planner::ContextKind::kRing);
  EXPECT_FALSE(execution.fused_kernels);
}

}  // namespace
}  // namespace evenkeel::server
