#include "client/cli/base/proto_json.h"

#include <gtest/gtest.h>

#include <string>

#include "client/cli/base/command_error.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {
namespace {

std::string ErrorOf(const std::string& text) {
  v1::PlanJobRequest request;
  try {
    FromJson(text, "job.json", &request);
  } catch (const CommandError& error) {
    return error.what();
  }
  return "";
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

TEST(ProtoJsonTest, UnknownValuesOfAnEnumHaveTheKnownOnes) {
  const std::string error = ErrorOf(R"({"job": {"training": {"zero_stage": "ZERO_STAGE_4"}}})");
  EXPECT_TRUE(EndsWith(error, "; accepted: ZERO_STAGE_0, ZERO_STAGE_1, ZERO_STAGE_2, ZERO_STAGE_3"))
      << error;
}

TEST(ProtoJsonTest, UnknownFieldsHaveTheNearestOnes) {
  std::string error = ErrorOf(R"({"job": {"trainning": {}}})");
  EXPECT_NE(error.find(" Nearest in Job: training"), std::string::npos) << error;
  error = ErrorOf(R"({"job": {"cluster": {"pools": [{"gpu_typ": "h100"}]}}})");
  EXPECT_NE(error.find(" Nearest in GpuPool: gpu_type"), std::string::npos) << error;
  error = ErrorOf(R"({"jobs": {}})");
  EXPECT_NE(error.find(" Nearest in PlanJobRequest: job"), std::string::npos) << error;
}

TEST(ProtoJsonTest, AnEmptyTextIsCalledEmpty) {
  EXPECT_EQ(ErrorOf(""), "job.json is empty");
  EXPECT_EQ(ErrorOf(" \n"), "job.json is empty");
}

TEST(ProtoJsonTest, OtherFaultsAreAsTheParserSaysThem) {
  EXPECT_EQ(ErrorOf("{}"), "");
  const std::string error = ErrorOf(R"({"job": {"training": {"seed": "x"}}})");
  EXPECT_TRUE(EndsWith(error, "for type TYPE_INT64")) << error;
}

}  // namespace
}  // namespace evenkeel::cli
