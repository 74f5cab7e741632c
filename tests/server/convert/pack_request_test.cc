#include "server/convert/packing/pack_request.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::server {
namespace {

constexpr char kStart[] = "start { rule { unit_cap: 9 token_cap: 4096 } data_parallel: 2 ";

v1::PackDatasetRequest PackMessage(const std::string& text) {
  v1::PackDatasetRequest message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// An upload that keeps what it received.
class Uploaded {
 public:
  explicit Uploaded(int64_t max_samples = 1000, int64_t memory = int64_t{1} << 30)
      : upload(max_samples, [this, memory](int64_t bytes) {
          if (bytes > memory) return false;
          reserved = bytes;
          return true;
        }) {}

  UploadEnd Take(const std::string& text) { return Keep(upload.Take(PackMessage(text), &found)); }
  UploadEnd Finish() { return Keep(upload.Finish(&found)); }

  std::vector<std::string> violations;
  int64_t reserved = 0;
  PackUpload upload;

 private:
  UploadEnd Keep(UploadEnd end) {
    for (const Violation& v : found) violations.push_back(v.field + ": " + v.description);
    return end;
  }
  std::vector<Violation> found;
};

using Lines = std::vector<std::string>;

// Returns all violations of a stream that ends with its first bad message.
Lines PackViolations(const std::vector<std::string>& messages) {
  Uploaded uploaded;
  for (const std::string& message : messages) {
    if (uploaded.Take(message) != UploadEnd::kTaken) return uploaded.violations;
  }
  uploaded.Finish();
  return uploaded.violations;
}

std::string Started(const std::string& fields = "") { return kStart + fields + " }"; }

TEST(PackUpload, KeepsSamplesInOrderWithDefaultsFilledIn) {
  Uploaded uploaded;
  EXPECT_EQ(uploaded.Take(Started()), UploadEnd::kTaken);
  EXPECT_EQ(uploaded.Take("chunk { units: [1, 0, 3] llm_tokens: [100, 50, 800] }"),
            UploadEnd::kTaken);
  EXPECT_EQ(uploaded.Take("chunk { llm_tokens: [7] }"), UploadEnd::kTaken);
  EXPECT_EQ(uploaded.Finish(), UploadEnd::kTaken);
  const planner::Lengths lengths = uploaded.upload.lengths();
  EXPECT_EQ(std::vector<int32_t>(lengths.units.begin(), lengths.units.end()),
            (std::vector<int32_t>{1, 0, 3, 0}));
  EXPECT_EQ(std::vector<int32_t>(lengths.tokens.begin(), lengths.tokens.end()),
            (std::vector<int32_t>{100, 50, 800, 7}));
  const planner::PackingJob& job = uploaded.upload.job();
  EXPECT_EQ(job.pack.packer, planner::Packer::kBalanced);
  EXPECT_EQ(job.pack.caps, (planner::Caps{.units = 9, .tokens = 4096}));
  EXPECT_EQ(job.pack.keep_units, 9);
  EXPECT_EQ(job.pack.keep_tokens, 3968);
  EXPECT_EQ(job.pack.iterations, 10);
  EXPECT_EQ(job.pack.oversize, planner::OversizePolicy::kAlone);
  EXPECT_EQ(job.deal.ranks, 2);
  EXPECT_EQ(job.deal.packs_per_rank, 1);
  EXPECT_EQ(job.deal.window, 16);
  EXPECT_EQ(job.deal.group, 1);
  EXPECT_EQ(job.times.vision_per_unit, 1);
}

TEST(PackUpload, TakesEveryFieldOfTheRule) {
  Uploaded uploaded;
  ASSERT_EQ(uploaded.Take(R"(start {
    rule { unit_cap: 18 token_cap: 100 keep_units: 3 keep_tokens: 50 packer: PACKER_ISF
           order_window: 16 iterations: 4 seed: -1 oversize_policy: OVERSIZE_POLICY_REJECT
           pack_times { vision_seconds_per_unit: 5 language_seconds_per_token: 2
                        language_seconds_per_squared_token: .5 dummy_vision_units: 1 }
           pack_count: 99 caps_reason: "of a plan" }
    data_parallel: 8 packs_per_rank: 4 epoch: 3 sequence_parallel_group: 2
    apart_sample_count: [1, 1] result: PACK_DATASET_RESULT_SUMMARY keep_histogram: true })"),
            UploadEnd::kTaken)
      << uploaded.violations[0];
  const planner::PackingJob& job = uploaded.upload.job();
  EXPECT_EQ(job.pack.packer, planner::Packer::kIsf);
  EXPECT_EQ(job.pack.keep_units, 3);
  EXPECT_EQ(job.pack.keep_tokens, 50);
  EXPECT_EQ(job.pack.iterations, 4);
  EXPECT_EQ(job.pack.seed, ~uint64_t{0});
  EXPECT_EQ(job.pack.oversize, planner::OversizePolicy::kReject);
  EXPECT_EQ(job.pack.apart, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(job.deal.seed, ~uint64_t{0});
  EXPECT_EQ(job.deal.window, 16);
  EXPECT_EQ(job.deal.packs_per_rank, 4);
  EXPECT_EQ(job.deal.group, 2);
  EXPECT_EQ(job.deal.epoch, 3);
  EXPECT_EQ(job.times.language_per_squared_token, .5);
  EXPECT_EQ(job.times.dummy_units, 1);
  EXPECT_TRUE(uploaded.upload.summary_only());
  EXPECT_TRUE(uploaded.upload.keep_histogram());
}

TEST(PackUpload, NamesEveryBadFieldOfTheStart) {
  EXPECT_EQ(
      PackViolations({R"(start {
    rule { unit_cap: -1 packer: 99 order_window: -2 iterations: 101 oversize_policy: 7
           keep_units: -1 keep_tokens: -1 pack_times { vision_seconds_per_unit: -1 } }
    packs_per_rank: 70000 epoch: -1 sample_count: -5 apart_sample_count: [3, 0]
    sequence_parallel_group: -1 result: 9 })"}),
      (Lines{
          "start.rule.unit_cap: must be 0 to 1000000, but is -1",
          "start.rule.keep_units: must be 0 to 1000000, but is -1",
          "start.rule.keep_tokens: must be 0 to 4294967296, but is -1",
          "start.rule.packer: unknown value 99; accepted: PACKER_BALANCED, PACKER_ISF, "
          "PACKER_FIRST_FIT_DECREASING, PACKER_BEST_FIT_DECREASING, PACKER_GREEDY_KNAPSACK, "
          "PACKER_NEXT_FIT",
          "start.rule.keep_units: needs token_cap: without it caps are derived, and this too",
          "start.rule.keep_tokens: needs token_cap: without it caps are derived, and this too",
          "start.rule.order_window: must be 1 to 1000000000, or unset, but is -2",
          "start.rule.iterations: must be 1 to 100, or unset, but is 101",
          "start.rule.oversize_policy: unknown value 7; accepted: OVERSIZE_POLICY_ALONE, "
          "OVERSIZE_POLICY_REJECT",
          "start.rule.pack_times.vision_seconds_per_unit: must be 0 to 1000, but is -1",
          "start.data_parallel: required: 1 to 65536",
          "start.packs_per_rank: must be 1 to 65536, or unset, but is 70000",
          "start.epoch: must be 0 to 9223372036854775807, but is -1",
          "start.sample_count: must be 0 to 2147483647, but is -5",
          "start.sequence_parallel_group: must be 1 to 65536, or unset, but is -1",
          "start.apart_sample_count[1]: must be 1 to 2147483647, but is 0",
          "start.result: unknown value 9; accepted: PACK_DATASET_RESULT_FULL, "
          "PACK_DATASET_RESULT_SUMMARY",
      }));
}

TEST(PackUpload, FieldsOfTheStartMustSuitEachOther) {
  EXPECT_EQ(PackViolations({"start { rule { token_cap: 5 pack_times { } } data_parallel: 65536 "
                            "packs_per_rank: 18 sequence_parallel_group: 4 sample_count: 9 "
                            "apart_sample_count: [4, 4] }"}),
            (Lines{"start.rule.pack_times: must have a time above 0, or be unset: then units and "
                   "tokens stand for themselves",
                   "start.packs_per_rank: data_parallel x packs_per_rank must be at most 1048576, "
                   "but is 1179648",
                   "start.sequence_parallel_group: must divide packs_per_rank (18), but is 4",
                   "start.apart_sample_count: must sum to sample_count (9), but sums to 8"}));
  EXPECT_EQ(PackViolations({"start { data_parallel: 1 }"}),
            Lines{"start.rule: required: it may be empty, caps are then derived from the data"});
}

TEST(PackUpload, LevelByTimeNeedsTimesAndFreesTheWindow) {
  const std::string times = "pack_times { language_seconds_per_token: 1 }";
  const auto job_of = [](const std::string& rule) {
    Uploaded uploaded;
    EXPECT_EQ(uploaded.Take("start { data_parallel: 2 rule { token_cap: 5 " + rule + " } }"),
              UploadEnd::kTaken);
    return uploaded.upload.job();
  };
  EXPECT_FALSE(job_of(times).by_time);
  EXPECT_FALSE(job_of("level: PACK_LEVEL_TOKENS " + times).window_is_free);
  EXPECT_TRUE(job_of("level: PACK_LEVEL_TIME " + times).by_time);
  EXPECT_TRUE(job_of("level: PACK_LEVEL_TIME " + times).window_is_free);
  EXPECT_EQ(job_of("level: PACK_LEVEL_TIME " + times).deal.window, 16);
  EXPECT_FALSE(job_of("level: PACK_LEVEL_TIME order_window: 16 " + times).window_is_free);
  EXPECT_EQ(PackViolations({"start { data_parallel: 2 rule { level: PACK_LEVEL_TIME } }"}),
            Lines{"start.rule.pack_times: required with level PACK_LEVEL_TIME: the times of a "
                  "plan's batch_rule, or of the model's parts"});
  EXPECT_EQ(PackViolations({"start { data_parallel: 2 rule { level: 3 } }"}),
            Lines{"start.rule.level: unknown value 3; accepted: PACK_LEVEL_TOKENS, "
                  "PACK_LEVEL_TIME"});
  EXPECT_EQ(PackViolations({"start { rule { level: PACK_LEVEL_TIME " + times +
                            " } groups { length_tokens: 100 data_parallel: 8 } }"}),
            Lines{"start.rule.level: must be PACK_LEVEL_TOKENS, or unset, with groups: they level "
                  "attention themselves"});
}

TEST(PackUpload, MessagesComeInOrder) {
  EXPECT_EQ(PackViolations({}), Lines{"start: required: the first message says how to pack"});
  EXPECT_EQ(PackViolations({"chunk { llm_tokens: 1 }"}),
            Lines{"start: required: the first message says how to pack"});
  EXPECT_EQ(PackViolations({""}), Lines{"start: required: the first message says how to pack"});
  EXPECT_EQ(PackViolations({Started(), "chunk { llm_tokens: 1 }", Started()}),
            Lines{"start: must be the first message alone, but came again after 1 chunks"});
  EXPECT_EQ(PackViolations({Started(), "chunk { llm_tokens: 1 }", ""}),
            Lines{"chunk[1]: required: a message after the first has samples"});
}

TEST(PackUpload, NamesBadValuesByMessageAndIndex) {
  EXPECT_EQ(PackViolations({Started(), "chunk { llm_tokens: 1 }",
                            "chunk { units: [1, -1, 1000001] llm_tokens: [16777217, 5, 0] }"}),
            (Lines{"chunk[1].units[1]: must be 0 to 1000000, but is -1 (and 1 more in this list)",
                   "chunk[1].llm_tokens[0]: must be 1 to 16777216, but is 16777217 (and 1 more in "
                   "this list)"}));
  EXPECT_EQ(
      PackViolations({Started(), "chunk { units: [1, 2] llm_tokens: [5, 5, 5] }"}),
      Lines{"chunk[0].units: must have as many values as llm_tokens (3), or none, but has 2"});
  EXPECT_EQ(PackViolations({Started(), "chunk { }"}),
            Lines{"chunk[0].llm_tokens: required: the samples' tokens; leave out chunks without "
                  "samples"});
}

TEST(PackUpload, CountsMustBeTheOnesAnnounced) {
  const std::string three = "chunk { llm_tokens: [1, 2, 3] }";
  EXPECT_EQ(PackViolations({Started("sample_count: 4"), three}),
            Lines{"start.sample_count: announced 4 samples, but 3 came"});
  EXPECT_EQ(PackViolations({Started("sample_count: 4"), three, three}),
            Lines{"chunk[1].llm_tokens: brings the upload to 6 samples, but start.sample_count "
                  "announced 4"});
  EXPECT_EQ(PackViolations({Started("apart_sample_count: [2, 2]"), three}),
            Lines{"start.apart_sample_count: announced 4 samples, but 3 came"});
  EXPECT_EQ(PackViolations({Started("apart_sample_count: [2, 1]"), three}), Lines{});
  EXPECT_EQ(PackViolations({Started()}), Lines{});  // an empty upload is not an error
  EXPECT_EQ(PackViolations({Started("keep_histogram: true")}),
            Lines{"start.keep_histogram: must be unset for an upload without samples"});
}

TEST(PackUpload, RefusesFieldsOfANewerContract) {
  v1::PackDatasetRequest message = PackMessage(Started());
  google::protobuf::Message* rule = message.mutable_start()->mutable_rule();
  rule->GetReflection()->MutableUnknownFields(rule)->AddVarint(99, 1);
  std::vector<Violation> violations;
  PackUpload upload(10, [](int64_t) { return true; });
  EXPECT_EQ(upload.Take(message, &violations), UploadEnd::kInvalid);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "start.rule.99");
}

TEST(PackUpload, TooManySamplesAreRefusedBeforeTheyAreKept) {
  Uploaded announced(10);
  EXPECT_EQ(announced.Take(Started("sample_count: 11")), UploadEnd::kTooLarge);
  Uploaded grown(3);
  EXPECT_EQ(grown.Take(Started()), UploadEnd::kTaken);
  EXPECT_EQ(grown.Take("chunk { llm_tokens: [1, 1, 1] }"), UploadEnd::kTaken);
  EXPECT_EQ(grown.Take("chunk { llm_tokens: 1 }"), UploadEnd::kTooLarge);
  EXPECT_EQ(grown.upload.sample_count(), 3);
}

TEST(PackUpload, SetsMemoryAsideBeforeItIsUsed) {
  Uploaded announced(1000000);
  EXPECT_EQ(announced.Take(Started("sample_count: 500000")), UploadEnd::kTaken);
  EXPECT_EQ(announced.reserved, PackBytes(500000, 2));
  Uploaded grown(1000000);
  EXPECT_EQ(grown.Take(Started()), UploadEnd::kTaken);
  const int64_t first = grown.reserved;
  EXPECT_GE(first, PackBytes(0, 2));
  v1::PackDatasetRequest chunk;
  for (int i = 0; i < 20000; ++i) chunk.mutable_chunk()->add_llm_tokens(1);
  std::vector<Violation> violations;
  EXPECT_EQ(grown.upload.Take(chunk, &violations), UploadEnd::kTaken);
  EXPECT_GT(grown.reserved, first);
  EXPECT_GE(grown.reserved, PackBytes(20000, 2));
  Uploaded poor(1000000, PackBytes(1000, 2));
  EXPECT_EQ(poor.Take(Started("sample_count: 1001")), UploadEnd::kNoMemory);
}

}  // namespace
}  // namespace evenkeel::server
