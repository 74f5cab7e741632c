// Jobs, uploads and kept datasets of models with several encoders.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/packing.pb.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "server/convert/dataset/histogram_bytes.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/packing/pack_request.h"
#include "server/convert/packing/packing_rule.h"
#include "server/planning/keep_dataset.h"

namespace evenkeel::server {
namespace {

using testing::ElementsAre;

constexpr char kEncodersModel[] =
    "model { encoders { catalog_name: 'internvit-300m-448px' } "
    "encoders { modality: MODALITY_AUDIO layers: 4 hidden_size: 512 attention_heads: 8 "
    "ffn_size: 2048 tokens_per_unit: 50 llm_tokens_per_unit: 25 } "
    "language_model { catalog_name: 'llama3-8b' } } "
    "cluster { pools { gpu_type: 'h100' gpu_count: 8 } } ";

std::vector<std::string> Violations(const std::string& job_text, planner::Job* job) {
  v1::PlanJobRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("job { " + job_text + " }", &request))
      << job_text;
  std::vector<std::string> lines;
  for (const Violation& v : JobFromProto(request, job))
    lines.push_back(v.field + ": " + v.description);
  return lines;
}

std::vector<std::string> Of(const std::string& histogram) {
  planner::Job job;
  return Violations(kEncodersModel + ("dataset { histogram { " + histogram + " } }"), &job);
}

TEST(SeveralEncodersRequest, HasAColumnForEach) {
  planner::Job job;
  EXPECT_THAT(
      Violations(kEncodersModel + std::string("dataset { histogram { encoder_count: 2 units: [2, "
                                              "0, 0, 7, 2, 0] llm_tokens: [600, 300, 900] "
                                              "sample_count: [5, 6, 7] } }"),
                 &job),
      testing::IsEmpty());
  ASSERT_EQ(job.model.towers.size(), 2u);
  EXPECT_EQ(job.model.name, "internvit-300m-448px+custom-encoder+llama3-8b");
  ASSERT_EQ(job.dataset.bins.size(), 3u);
  EXPECT_EQ(job.dataset.bins[0].units[1], 7);  // ascending: (0, 7), then (2, 0) twice
  EXPECT_EQ(job.dataset.bins[1].units[0], 2);
  EXPECT_EQ(job.dataset.encoders(), 2u);
  EXPECT_GT(job.dataset.unit_scales[0], 1);
  EXPECT_EQ(job.dataset.unit_scales[1], 1);
}

TEST(SeveralEncodersRequest, BadColumnsAreNamed) {
  EXPECT_THAT(Of("units: [2] llm_tokens: [600] sample_count: [5]"),
              ElementsAre("job.dataset.histogram.encoder_count: must be the number of the model's "
                          "encoders (2), but is 1"));
  EXPECT_THAT(Of("encoder_count: 2 units: [2, 1, 0] llm_tokens: [600] sample_count: [5]"),
              ElementsAre("job.dataset.histogram.units: must have encoder_count (2) values for "
                          "each of sample_count (1), but has 3"));
  EXPECT_THAT(Of("encoder_count: 2 units: [2, 4] llm_tokens: [600] sample_count: [5]"),
              ElementsAre("job.dataset.histogram.llm_tokens[0]: must be at least 2 units x 256 "
                          "tokens per unit + 4 units x 25 tokens per unit = 612 (visual tokens are "
                          "counted in), but is 600"));
  EXPECT_THAT(Of("encoder_count: 5 llm_tokens: [600] sample_count: [5]"),
              ElementsAre("job.dataset.histogram.encoder_count: must be 1 to 4, or unset, but is "
                          "5"));
  planner::Job job;
  EXPECT_THAT(Violations(kEncodersModel, &job),
              ElementsAre("job.dataset: required for a model with several encoders: no data is "
                          "assumed for them"));
}

TEST(SeveralEncodersRequest, DataWithoutUnitsNeedsNoColumns) {
  EXPECT_THAT(Of("llm_tokens: [600] sample_count: [5]"), testing::IsEmpty());
}

v1::PackDatasetRequest EncodersMessage(const std::string& text) {
  v1::PackDatasetRequest message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

constexpr char kEncodersStart[] =
    "start { data_parallel: 2 rule { unit_scales: [10, 1] unit_cap: 30 token_cap: 4096 pack_times "
    "{ encoder_seconds_per_unit: [2, 0.2] language_seconds_per_token: 0.001 } } }";

TEST(SeveralEncodersUpload, ScalesAndKeepsTheColumns) {
  PackUpload upload(100, [](int64_t) { return true; });
  std::vector<Violation> violations;
  ASSERT_EQ(upload.Take(EncodersMessage(kEncodersStart), &violations), UploadEnd::kTaken)
      << violations[0].field;
  ASSERT_EQ(upload.Take(EncodersMessage("chunk { llm_tokens: [100, 200] units: [1, 2, 0, 9] }"),
                        &violations),
            UploadEnd::kTaken);
  ASSERT_EQ(upload.Take(EncodersMessage("chunk { llm_tokens: [300] }"), &violations),
            UploadEnd::kTaken);
  ASSERT_EQ(upload.Finish(&violations), UploadEnd::kTaken);
  const planner::Lengths lengths = upload.lengths();
  EXPECT_THAT(lengths.units, ElementsAre(12, 9, 0));
  EXPECT_THAT(lengths.encoder_units, ElementsAre(1, 2, 0, 9, 0, 0));
  EXPECT_EQ(upload.job().times.vision_per_unit[1], 0.2);
  v1::BatchRule rule;  // as the summary tells it
  RuleToProto(upload.job(), &rule);
  EXPECT_THAT(rule.unit_scales(), ElementsAre(10, 1));
  EXPECT_THAT(rule.pack_times().encoder_seconds_per_unit(), ElementsAre(2, 0.2));
  EXPECT_EQ(rule.pack_times().vision_seconds_per_unit(), 0);

  const KeptDataset kept = KeepDataset(lengths);
  EXPECT_TRUE(IsKeptDataset(kept.ref, kept.bytes));
  const auto bins = BinsOf(kept.bytes);
  ASSERT_TRUE(bins.has_value());
  ASSERT_EQ(bins->size(), 3u);
  EXPECT_EQ((*bins)[2].units[0], 1);
  EXPECT_EQ((*bins)[2].units[1], 2);
}

// The rule that a summary tells can be sent again, also where an encoder takes no time.
TEST(SeveralEncodersUpload, ARuleCanBeSentAgain) {
  PackUpload upload(100, [](int64_t) { return true; });
  std::vector<Violation> violations;
  v1::PackDatasetRequest start = EncodersMessage(
      "start { data_parallel: 2 rule { unit_scales: [10, 1] token_cap: 4096 pack_times { "
      "encoder_seconds_per_unit: [2, 0] } } }");
  ASSERT_EQ(upload.Take(start, &violations), UploadEnd::kTaken);
  start.mutable_start()->clear_rule();
  RuleToProto(upload.job(), start.mutable_start()->mutable_rule());
  EXPECT_THAT(start.start().rule().pack_times().encoder_seconds_per_unit(), ElementsAre(2, 0));
  PackUpload again(100, [](int64_t) { return true; });
  EXPECT_EQ(again.Take(start, &violations), UploadEnd::kTaken);
  EXPECT_TRUE(violations.empty());
}

std::string FirstViolation(const std::vector<std::string>& messages) {
  PackUpload upload(100, [](int64_t) { return true; });
  std::vector<Violation> violations;
  for (const std::string& text : messages)
    if (upload.Take(EncodersMessage(text), &violations) != UploadEnd::kTaken) break;
  return violations.empty() ? "" : violations[0].field + ": " + violations[0].description;
}

TEST(SeveralEncodersUpload, BadOnesAreNamed) {
  EXPECT_EQ(FirstViolation({kEncodersStart, "chunk { llm_tokens: [100, 200] units: [1, 2] }"}),
            "chunk[0].units: must have as many values as unit_scales x llm_tokens (4), or none, "
            "but has 2");
  EXPECT_EQ(FirstViolation({"start { data_parallel: 2 rule { unit_scales: [10] } }"}),
            "start.rule.unit_scales: must have 2 to 4 values, one for each encoder, or none, but "
            "has 1");
  EXPECT_EQ(FirstViolation({"start { data_parallel: 2 rule { unit_scales: [10, 0] } }"}),
            "start.rule.unit_scales[1]: must be 1 to 1000, but is 0");
  EXPECT_EQ(FirstViolation({"start { data_parallel: 2 rule { unit_scales: [10, 1] pack_times { "
                            "encoder_seconds_per_unit: [1] } } }"}),
            "start.rule.pack_times.encoder_seconds_per_unit: must have one value for each of "
            "unit_scales (2), but has 1");
  EXPECT_EQ(FirstViolation({"start { data_parallel: 2 rule { pack_times { "
                            "encoder_seconds_per_unit: [1] } } }"}),
            "start.rule.pack_times.encoder_seconds_per_unit: must be unset without unit_scales: "
            "vision_seconds_per_unit is the encoder's time");
}

}  // namespace
}  // namespace evenkeel::server
