#include "server/convert/packing/pack_answer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::server {
namespace {

planner::PackingResult Result(int64_t packs, int64_t samples_per_pack) {
  planner::PackingResult result;
  for (int64_t pack = 0; pack < packs; ++pack) {
    for (int64_t i = 0; i < samples_per_pack; ++i) {
      result.packing.members.push_back(static_cast<uint32_t>(result.packing.members.size()));
    }
    result.packing.ClosePack();
    result.sums.push_back({.units = 2 * pack, .tokens = 10, .squared = 1});
    result.order.push_back(pack);
  }
  result.order.push_back(-1);
  result.bound = {.packs = packs - 1, .method = "pairs"};
  result.balance.steps = (packs + 1) / 2;
  result.balance.holed_steps = 1;
  return result;
}

// The whole answer, assembled from its messages.
struct Answer {
  std::vector<int64_t> counts, indices, order;
  v1::PackDatasetSummary summary;
  int messages = 0;
  size_t largest = 0;  // largest message, in bytes
};

Answer AnswerOf(PackAnswer answer) {
  Answer all;
  for (v1::PackDatasetResponse message; answer.Next(&message); message.Clear()) {
    ++all.messages;
    EXPECT_FALSE(all.summary.has_rule()) << "the summary comes last";
    all.largest = std::max(all.largest, message.ByteSizeLong());
    for (const int64_t count : message.packs().sample_count()) all.counts.push_back(count);
    for (const int64_t index : message.packs().sample_index()) all.indices.push_back(index);
    for (const int64_t index : message.order().pack_index()) all.order.push_back(index);
    if (message.has_summary()) all.summary = message.summary();
  }
  EXPECT_TRUE(all.summary.has_rule());
  return all;
}

TEST(PackAnswer, ComesInBoundedMessages) {
  const planner::PackingResult result = Result(70000, 3);
  const Answer answer = AnswerOf(PackAnswer({}, result, 210000, "ds-x", false));
  EXPECT_EQ(answer.messages, 4 + 2 + 1);  // 210000 indices, 70001 slots, the summary
  EXPECT_LT(answer.largest, size_t{1} << 20);
  EXPECT_EQ(answer.counts, std::vector<int64_t>(70000, 3));
  EXPECT_EQ(answer.indices,
            std::vector<int64_t>(result.packing.members.begin(), result.packing.members.end()));
  EXPECT_EQ(answer.order, result.order);
  EXPECT_EQ(answer.summary.dataset_ref(), "ds-x");
  EXPECT_EQ(answer.summary.sample_count(), 210000);
  EXPECT_EQ(answer.summary.step_count(), 35000);
  EXPECT_EQ(answer.summary.holed_step_count(), 1);
  EXPECT_EQ(answer.summary.rule().pack_count(), 70000);
  EXPECT_EQ(answer.summary.rule().pack_count_lower_bound(), 69999);
  EXPECT_EQ(answer.summary.lower_bound_method(), "pairs");
  EXPECT_EQ(answer.summary.rule().mean_tokens(), 10);
  EXPECT_EQ(answer.summary.rule().mean_units(), 69999);
}

TEST(PackAnswer, APackLargerThanAMessageGoesOnInTheNext) {
  const Answer answer = AnswerOf(PackAnswer({}, Result(2, 150000), 300000, "", false));
  EXPECT_EQ(answer.counts, std::vector<int64_t>(2, 150000));
  EXPECT_EQ(answer.indices.size(), 300000u);
  EXPECT_LT(answer.largest, size_t{1} << 20);
}

TEST(PackAnswer, SummaryAlone) {
  const Answer answer = AnswerOf(PackAnswer({}, Result(5, 2), 10, "", true));
  EXPECT_EQ(answer.messages, 1);
  EXPECT_EQ(answer.summary.sample_count(), 10);
}

TEST(PackAnswer, NothingPacked) {
  const Answer answer = AnswerOf(PackAnswer({}, {}, 0, "", false));
  EXPECT_EQ(answer.messages, 1);
  EXPECT_EQ(answer.summary.rule().pack_count(), 0);
}

TEST(PackAnswer, RuleAsCarriedOut) {
  planner::PackingJob job;
  job.pack.caps = {.units = 9, .tokens = 4096};
  job.pack.packer = planner::Packer::kIsf;
  job.pack.keep_units = 8;
  job.pack.seed = ~uint64_t{0};
  job.deal.window = 16;
  planner::PackingResult result = Result(1, 1);
  for (uint32_t i = 0; i < 20000; ++i) result.packing.oversize.push_back(i);
  result.rule = job.pack;
  const Answer answer = AnswerOf(PackAnswer(job, result, 1, "", false));
  const v1::BatchRule& rule = answer.summary.rule();
  EXPECT_EQ(rule.packer(), v1::PACKER_ISF);
  EXPECT_EQ(rule.unit_cap(), 9);
  EXPECT_EQ(rule.keep_units(), 8);
  EXPECT_EQ(rule.seed(), -1);
  EXPECT_EQ(rule.order_window(), 16);
  EXPECT_EQ(rule.oversize_policy(), v1::OVERSIZE_POLICY_ALONE);
  EXPECT_EQ(rule.pack_times().vision_seconds_per_unit(), 1);
  EXPECT_EQ(rule.oversize_sample_count(), 20000);
  EXPECT_EQ(answer.summary.oversize_sample_index_size(), 10000);
}

TEST(PackAnswer, LevelByTimeSaysWhatItGains) {
  planner::PackingJob job;
  job.by_time = true;
  job.deal.window = 16;
  planner::PackingResult result = Result(1, 1);
  result.window = 64;
  result.order_gap = .25;
  result.idle_by_tokens = .5;
  const v1::PackDatasetSummary by_time = AnswerOf(PackAnswer(job, result, 1, "", true)).summary;
  EXPECT_EQ(by_time.rule().level(), v1::PACK_LEVEL_TIME);
  EXPECT_EQ(by_time.rule().order_window(), 64);
  EXPECT_EQ(by_time.rule().order_gap_ratio(), .25);
  EXPECT_EQ(by_time.idle_ratio_by_tokens(), .5);
  job.by_time = false;
  const v1::PackDatasetSummary plain = AnswerOf(PackAnswer(job, Result(1, 1), 1, "", true)).summary;
  EXPECT_EQ(plain.rule().level(), v1::PACK_LEVEL_UNSPECIFIED);
  EXPECT_EQ(plain.rule().order_window(), 16);
  EXPECT_EQ(plain.idle_ratio_by_tokens(), 0);
}

}  // namespace
}  // namespace evenkeel::server
