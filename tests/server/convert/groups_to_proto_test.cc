// Tests packing groups in the contract: what the planner returns, and plans that are sent back with
// them.
#include "server/convert/answer/groups_to_proto.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "evenkeel/v1/timeline.pb.h"
#include "server/convert/job/from_proto.h"
#include "server/planning/compute_plan.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

planner::GroupPlan Group(int64_t length, int64_t context, int64_t data) {
  planner::GroupPlan group;
  group.token_cap = length;
  group.longest_sample = length - 1;
  group.parallelism = {.data = data, .context = context};
  group.micro_batches = 3;
  group.samples = 70;
  group.fillers = 6;
  group.packs = 50;
  group.steps = 5;
  group.share = .5;
  group.mean_tokens = 1000;
  group.dist_ratio_attention = .01;
  group.idle_ratio = .02;
  group.step.total_ns = 1'500'000'000;
  group.reason = "because";
  return group;
}

TEST(GroupsToProto, NothingWithoutGroups) {
  v1::Plan out;
  FillGroups(planner::Plan(), &out);
  EXPECT_EQ(out.ByteSizeLong(), 0u);
}

TEST(GroupsToProto, GroupsAndHowTheyRun) {
  planner::Plan plan;
  plan.grouping.emplace().groups = {Group(16384, 1, 32), Group(131072, 8, 4)};
  v1::Plan out;
  FillGroups(plan, &out);
  ASSERT_EQ(out.packing_groups_size(), 2);
  ASSERT_EQ(out.group_runs_size(), 2);
  const v1::PackingGroup& group = out.packing_groups(1);
  EXPECT_EQ(group.length_tokens(), 131072);
  EXPECT_EQ(group.longest_sample_tokens(), 131071);
  EXPECT_EQ(group.sequence_parallel(), 8);
  EXPECT_EQ(group.data_parallel(), 4);
  EXPECT_EQ(group.packs_per_rank(), 3);
  EXPECT_EQ(group.sample_count(), 70);
  EXPECT_EQ(group.filler_count(), 6);
  EXPECT_EQ(group.pack_count(), 50);
  EXPECT_EQ(group.step_count(), 5);
  EXPECT_EQ(group.share(), .5);
  EXPECT_EQ(group.mean_tokens(), 1000);
  EXPECT_EQ(group.dist_ratio_attention(), .01);
  EXPECT_EQ(group.idle_ratio(), .02);
  EXPECT_EQ(group.step_seconds(), 1.5);
  const v1::GroupRun& run = out.group_runs(1);
  EXPECT_EQ(run.parallelism().context(), 8);
  EXPECT_EQ(run.parallelism().data(), 4);
  EXPECT_EQ(run.micro_batches(), 3);
  EXPECT_EQ(run.step_time().total_seconds(), 1.5);
  EXPECT_EQ(run.reason(), "because");
}

TEST(GroupsToProto, HowTheyWereChosen) {
  planner::Plan plan;
  planner::Grouping& grouping = plan.grouping.emplace();
  grouping.groups = {Group(16384, 1, 32), Group(131072, 8, 4)};
  planner::GroupChoice& choice = grouping.choice;
  choice.candidate_lengths = {16384, 131072};
  choice.published = {{16384, 131072}, {1, 8}, 2.0};
  choice.exact = {{131072}, {32}, 1.5};
  choice.examined_sets = 16;
  choice.curriculum_steps = 171;
  choice.baselines = {{.method = planner::BatchingMethod::kSorted, .fits = false, .gpu_days = 9},
                      {.method = planner::BatchingMethod::kBalancedGroups,
                       .gpu_days = 2,
                       .step_ns = 250'000'000,
                       .communication_ratio = .2}};
  plan.batch_rule.dist_ratio_attention = .003;
  v1::Plan out;
  FillGroups(plan, &out);
  const v1::GroupChoice& made = out.group_choice();
  EXPECT_EQ(made.candidate_lengths_size(), 2);
  EXPECT_EQ(made.published_gpu_days(), 2);
  EXPECT_EQ(made.published_sequence_parallel(1), 8);
  EXPECT_EQ(made.exact_lengths(0), 131072);
  EXPECT_EQ(made.exact_sequence_parallel(0), 32);
  EXPECT_EQ(made.exact_gpu_days(), 1.5);
  EXPECT_EQ(made.examined_set_count(), 16);
  EXPECT_EQ(made.curriculum_steps(), 171);
  EXPECT_EQ(made.dist_ratio_attention(), .003);
  ASSERT_EQ(made.baselines_size(), 2);
  EXPECT_EQ(made.baselines(0).method(), v1::BATCHING_METHOD_SORTED);
  EXPECT_FALSE(made.baselines(0).fits());
  EXPECT_EQ(made.baselines(0).gpu_days(), 0);  // a method that does not fit has no other figures
  EXPECT_TRUE(made.baselines(1).fits());
  EXPECT_EQ(made.baselines(1).step_seconds(), .25);
  EXPECT_EQ(made.baselines(1).communication_ratio(), .2);
}

// Makes a plan of two groups, sent for prediction.
v1::EvaluatePlanRequest Sent() {
  v1::EvaluatePlanRequest request;
  *request.mutable_job() = Parse(R"(job {
      model { name: "llama3.1-8b" }
      dataset { histogram { llm_tokens: [300, 8192, 20000, 131072]
                            sample_count: [90000, 900, 90, 50] } }
      cluster { pools { gpu_type: "h100-sxm-80gb" gpu_count: 32 } }
      training { framework: TRAINING_FRAMEWORK_DEEPSPEED zero_stage: ZERO_STAGE_2 } })")
                               .job();
  v1::Plan* plan = request.mutable_plan();
  plan->mutable_parallelism()->set_data(4);
  plan->mutable_parallelism()->set_context(8);
  v1::LayerGroup* layers = plan->add_stages()->add_layers();
  layers->set_layer_count(32);
  layers->set_recomputed_count(32);
  plan->mutable_batch_rule()->set_token_cap(131072);
  for (const int64_t length : {8192, 131072}) {
    v1::PackingGroup* group = plan->add_packing_groups();
    group->set_length_tokens(length);
    group->set_packs_per_rank(2);
  }
  request.set_include_timeline(true);
  return request;
}

TEST(EvaluatePlanOfGroups, IsOfAStepOfTheLast) {
  EvaluationJob evaluation;
  EXPECT_TRUE(EvaluationFromProto(Sent(), &evaluation).empty());
  EXPECT_EQ(evaluation.plan.spec.micro_batches, 2);
  ASSERT_EQ(evaluation.packs.dataset.bins.size(), 2u);
  EXPECT_EQ(evaluation.packs.dataset.bins[0].llm_tokens, 20000);
  EXPECT_EQ(evaluation.job.dataset.bins.size(), 4u);  // our own plan is for all samples
  const ComputedEvaluation computed = ComputeEvaluation(evaluation, 0, 131072);
  ASSERT_EQ(computed.end, ComputeEnd::kDone);
  v1::Timeline timeline;
  ASSERT_TRUE(timeline.ParseFromString(computed.plan.timeline_bytes));
  EXPECT_EQ(timeline.micro_batches(), 2);
}

TEST(EvaluatePlanOfGroups, TheLongestSampleOfTheGroupBeforeCounts) {
  v1::EvaluatePlanRequest request = Sent();
  request.mutable_plan()->mutable_packing_groups(0)->set_longest_sample_tokens(4096);
  request.mutable_plan()->mutable_packing_groups(1)->clear_packs_per_rank();
  EvaluationJob evaluation;
  EXPECT_TRUE(EvaluationFromProto(request, &evaluation).empty());
  EXPECT_EQ(evaluation.packs.dataset.bins.size(), 3u);
  EXPECT_EQ(evaluation.plan.spec.micro_batches, 1);
}

TEST(EvaluatePlanOfGroups, OneGroupIsAllSamples) {
  v1::EvaluatePlanRequest request = Sent();
  request.mutable_plan()->mutable_packing_groups()->RemoveLast();
  EvaluationJob evaluation;
  EXPECT_TRUE(EvaluationFromProto(request, &evaluation).empty());
  EXPECT_EQ(evaluation.packs.dataset.bins.size(), 4u);
  EXPECT_EQ(evaluation.plan.spec.micro_batches, 0);
}

TEST(EvaluatePlanOfGroups, PacksPerRankAreInRange) {
  v1::EvaluatePlanRequest request = Sent();
  request.mutable_plan()->mutable_packing_groups(1)->set_packs_per_rank(-1);
  EvaluationJob evaluation;
  const std::vector<Violation> violations = EvaluationFromProto(request, &evaluation);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "plan.packing_groups[1].packs_per_rank");
}

}  // namespace
}  // namespace evenkeel::server
