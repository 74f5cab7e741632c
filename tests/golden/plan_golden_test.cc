// Compares whole plans of the shipped example jobs, as text. A change of any figure shows here. It
// must come with a new kPlannerRevision (planner/plan.h) or kCatalogVersion, since both are part of
// every plan id. EVENKEEL_UPDATE_GOLDEN=1 rewrites the files.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "server/convert/job/from_proto.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"

namespace evenkeel::server {
namespace {

const std::string kSource = EVENKEEL_SOURCE_DIR;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the plan as text. Two computations of the job must agree to the byte.
std::string PlanText(const std::string& example) {
  v1::PlanJobRequest request;
  const std::string job_json = ReadFile(kSource + "/deploy/examples/" + example + ".json");
  const auto parsed = google::protobuf::util::JsonStringToMessage(job_json, &request);
  EXPECT_TRUE(parsed.ok()) << example << ": " << parsed.ToString();
  planner::Job job;
  EXPECT_THAT(JobFromProto(request, &job), testing::IsEmpty()) << example;
  ComputedPlan first, second;
  std::vector<std::string> faults;
  EXPECT_EQ(ComputePlan(job, PlanId(job), {}, &first, &faults), ComputeEnd::kDone)
      << testing::PrintToString(faults);
  EXPECT_EQ(ComputePlan(job, PlanId(job), {}, &second, &faults), ComputeEnd::kDone);
  EXPECT_EQ(first.plan_bytes, second.plan_bytes) << example;
  v1::Plan plan;
  EXPECT_TRUE(plan.ParseFromString(first.plan_bytes));
  std::string text;
  google::protobuf::TextFormat::PrintToString(plan, &text);
  return text;
}

class PlanGolden : public testing::TestWithParam<const char*> {};

TEST_P(PlanGolden, IsUnchanged) {
  const std::string path = kSource + "/tests/golden/plans/" + GetParam() + ".txt";
  const std::string text = PlanText(GetParam());
  if (std::getenv("EVENKEEL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, ReadFile(path))
      << "Plans changed: bump kPlannerRevision or kCatalogVersion, then run again with "
         "EVENKEEL_UPDATE_GOLDEN=1 and read the difference.";
}

INSTANTIATE_TEST_SUITE_P(Examples, PlanGolden,
                         testing::Values("internvl-6b-20b", "llama3-8b-long", "llama3-8b-text",
                                         "misfit", "omnibal-t9-5", "qwen3-vl-30b-a3b",
                                         "gpt-oss-120b", "llama3-70b-mxfp8", "qwen3.5-35b-a3b",
                                         "internvl3.5-38b", "omni-8b"),
                         [](const auto& example) {
                           std::string name = example.param;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace evenkeel::server
