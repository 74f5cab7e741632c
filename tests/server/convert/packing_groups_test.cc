#include "server/convert/packing/packing_groups.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/packing.pb.h"
#include "planner/packing/pack_dataset.h"
#include "server/convert/packing/pack_answer.h"
#include "server/convert/packing/pack_request.h"

namespace evenkeel::server {
namespace {

using Lines = std::vector<std::string>;

struct Taken {
  int64_t reserved = 0;
  PackUpload upload{1000, [this](int64_t bytes) {
                      reserved = bytes;
                      return true;
                    }};
  Lines violations;

  explicit Taken(const Lines& messages) {
    std::vector<Violation> found;
    for (const std::string& text : messages) {
      v1::PackDatasetRequest message;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
      upload.Take(message, &found);
      if (!found.empty()) break;
    }
    if (found.empty()) upload.Finish(&found);
    for (const Violation& v : found) violations.push_back(v.field + ": " + v.description);
  }
};

TEST(PackingGroupsTest, AreTakenWithTheirDefaults) {
  const Taken taken(
      {"start { rule { order_window: 4 } curriculum_steps: 7"
       "  groups { length_tokens: 100 data_parallel: 8 packs_per_rank: 2 longest_sample_tokens: 60 "
       "}"
       "  groups { length_tokens: 800 data_parallel: 2 sequence_parallel: 4 pack_count: 9 } }",
       "chunk { llm_tokens: [5, 6] loss_tokens: [0, 6] }",
       "chunk { llm_tokens: 3 loss_tokens: 1 }"});
  EXPECT_EQ(taken.violations, Lines());
  const planner::PackingJob& job = taken.upload.job();
  ASSERT_EQ(job.groups.size(), 2u);
  EXPECT_EQ(job.groups[0].longest, 60);
  EXPECT_EQ(job.groups[0].caps, (planner::Caps{planner::kNoUnitCap, 100}));
  EXPECT_EQ(job.groups[0].context, 1);
  EXPECT_EQ(job.groups[0].step_packs(), 16);
  EXPECT_EQ(job.groups[1].longest, 800);
  EXPECT_EQ(job.groups[1].context, 4);
  EXPECT_EQ(job.curriculum_steps, 7);
  EXPECT_EQ(std::vector<int32_t>(job.loss_tokens.begin(), job.loss_tokens.end()),
            (std::vector<int32_t>{0, 6, 1}));
  EXPECT_GE(taken.reserved, PackBytes(3, 16));
}

TEST(PackingGroupsTest, EveryBadFieldIsNamed) {
  EXPECT_EQ(
      Taken({"start { rule {} curriculum_steps: -1 groups { unit_cap: -1 sequence_parallel: -2 "
             "packs_per_rank: 70000 longest_sample_tokens: -1 } }"})
          .violations,
      (Lines{"start.groups[0].length_tokens: required: 1 to 16777216",
             "start.groups[0].sequence_parallel: must be 1 to 65536, or unset, but is -2",
             "start.groups[0].data_parallel: required: 1 to 65536",
             "start.groups[0].packs_per_rank: must be 1 to 65536, or unset, but is 70000",
             "start.groups[0].longest_sample_tokens: must be 1 to 16777216, or unset, but is "
             "-1",
             "start.groups[0].unit_cap: must be 0 to 1000000, but is -1",
             "start.curriculum_steps: must be 0 to 9223372036854775807, but is -1"}));
}

TEST(PackingGroupsTest, GroupsMustGoTogether) {
  EXPECT_EQ(
      Taken(
          {"start { rule {} apart_sample_count: 3 sequence_parallel_group: 2"
           "  groups { length_tokens: 100 data_parallel: 8 longest_sample_tokens: 200 unit_cap: 9 }"
           "  groups { length_tokens: 100 data_parallel: 2 longest_sample_tokens: 90 unit_cap: 8"
           "           sequence_parallel: 3 }"
           "  groups { length_tokens: 300 data_parallel: 8 packs_per_rank: 65536 } }"})
          .violations,
      (Lines{
          "start.groups[0].longest_sample_tokens: must be at most length_tokens (100), or unset, "
          "but is 200",
          "start.groups[1].length_tokens: must be above that of the group before (100), but is 100",
          "start.groups[1].longest_sample_tokens: must be above that of the group before (200), "
          "but is 90",
          "start.groups[1].unit_cap: must be at least that of the group before (9), or unset, but "
          "is 8",
          "start.groups[1].data_parallel: sequence_parallel x data_parallel must be the same in "
          "all groups (8 in the first), but is 6",
          "start.apart_sample_count: must be empty with groups: their packs mix samples of all "
          "datasets",
          "start.sequence_parallel_group: must be 1, or unset, with groups: they have their own "
          "sequence_parallel"}));
}

TEST(PackingGroupsTest, TooManyGroupsTooManySlotsNoGroups) {
  std::string many = "start { rule {} ";
  for (int i = 1; i <= 17; ++i)
    many += "groups { data_parallel: 1 length_tokens: " + std::to_string(i) + " }";
  EXPECT_EQ(Taken({many + "}"}).violations,
            Lines{"start.groups: must have at most 16 groups, but has 17"});
  EXPECT_EQ(Taken({"start { rule {} groups { length_tokens: 9 data_parallel: 65536 "
                   "packs_per_rank: 17 } }"})
                .violations,
            Lines{"start.groups[0].packs_per_rank: data_parallel x packs_per_rank must be at most "
                  "1048576, but is 1114112"});
  EXPECT_EQ(Taken({"start { rule {} data_parallel: 1 curriculum_steps: 3 }"}).violations,
            Lines{"start.curriculum_steps: needs groups: must be unset without them"});
}

TEST(PackingGroupsTest, LossTokensComeForAllSamplesOrNone) {
  const std::string start = "start { rule {} groups { length_tokens: 9 data_parallel: 1 } }";
  EXPECT_EQ(Taken({start, "chunk { llm_tokens: [5, 6] loss_tokens: 1 }"}).violations,
            Lines{"chunk[0].loss_tokens: must have as many values as llm_tokens (2), or none, but "
                  "has 1"});
  EXPECT_EQ(Taken({start, "chunk { llm_tokens: [5, 6] loss_tokens: [1, 7] }"}).violations,
            Lines{"chunk[0].loss_tokens[1]: must be 0 to 6, but is 7"});
  EXPECT_EQ(
      Taken({start, "chunk { llm_tokens: 5 }", "chunk { llm_tokens: 5 loss_tokens: 1 }"})
          .violations,
      Lines{"chunk[1].loss_tokens: must be empty: the chunks before have none, and all are alike"});
  EXPECT_EQ(
      Taken({start, "chunk { llm_tokens: 5 loss_tokens: 1 }", "chunk { llm_tokens: 5 }"})
          .violations,
      Lines{"chunk[1].loss_tokens: required: the chunks before have them, and all are alike"});
}

TEST(PackingGroupsTest, TheAnswerNamesGroupAndNormalizerOfEveryStep) {
  const std::vector<int32_t> units(70000), tokens(70000, 10);
  planner::PackingJob job;
  job.groups = {{5, {planner::kNoUnitCap, 5}, 1, 2, 1}, {10, {planner::kNoUnitCap, 10}, 2, 1, 1}};
  PackAnswer answer(job, planner::PackAndDeal({units, tokens}, job), 70000, "", false);
  std::vector<int64_t> order;
  std::vector<int32_t> groups;
  std::vector<double> normalizers;
  v1::PackDatasetSummary summary;
  for (v1::PackDatasetResponse message; answer.Next(&message); message.Clear()) {
    EXPECT_LT(message.ByteSizeLong(), size_t{1} << 20);
    const auto& chunk = message.order();
    order.insert(order.end(), chunk.pack_index().begin(), chunk.pack_index().end());
    groups.insert(groups.end(), chunk.group_index().begin(), chunk.group_index().end());
    normalizers.insert(normalizers.end(), chunk.loss_normalizer_tokens().begin(),
                       chunk.loss_normalizer_tokens().end());
    if (message.has_summary()) summary = message.summary();
  }
  EXPECT_EQ(order.size(), 70000u);
  EXPECT_EQ(groups, std::vector<int32_t>(70000, 1));
  EXPECT_EQ(normalizers, std::vector<double>(70000, 10));
  ASSERT_EQ(summary.groups_size(), 2);
  EXPECT_EQ(summary.groups(1).pack_count(), 70000);
  EXPECT_EQ(summary.groups(1).step_count(), 70000);
  EXPECT_EQ(summary.groups(1).share(), 1);
  EXPECT_EQ(summary.groups(0).pack_count(), 0);
  EXPECT_EQ(summary.communication_ratio(), 1);
  EXPECT_EQ(summary.mean_rank_tokens(), 10);
  EXPECT_EQ(summary.rule().unit_cap(), 0);
  EXPECT_EQ(summary.rule().token_cap(), 10);
}

}  // namespace
}  // namespace evenkeel::server
