// Predictions on published runs of many trainers (tests/validation/runs) get no worse. Each bound
// lies just above the error of today: whoever lowers an error lowers its bound.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/validation/harness/evaluate.h"
#include "tests/validation/harness/rows.h"
#include "tests/validation/harness/run_report.h"

namespace evenkeel::validation {
namespace {

struct Bound {
  double time = 0, memory = 0;  // mean absolute error; 0: no row has one
};

const std::map<std::string, Bound>& Bounds() {
  static const std::map<std::string, Bound> kBounds = {
      {"aws-dispatchers", {0.169, 0}},
      {"aws-dispatchers, dispatchers", {0.192, 0}},
      {"dgxc-benchmarking", {0.047, 0}},
      {"dgxc-benchmarking, racks", {0, 0}},
      {"internevo", {0.041, 0.375}},
      {"korthikanti-2022", {0.028, 0}},
      {"llm-foundry", {0.081, 0}},
      {"megatron-bridge-cards", {0.379, 0}},
      {"megatron-bridge-skills", {0.373, 0.189}},
      {"megatron-bridge-summary, dispatchers", {0.280, 0}},
      {"megatron-bridge-summary, windows", {0.087, 0}},
      {"nanotron", {0.117, 0.114}},
      {"qwen-profile", {0.210, 0.123}},
      {"simumax-b200", {0.050, 0.006}},
      {"torchtitan", {0.061, 0}},
      {"vtrain-multi", {0.082, 0}},
      {"vtrain-single", {0.097, 0}},
      {"xtuner-moe", {0.139, 0}},
      {"xtuner-moe, dispatchers", {0.221, 0}},
  };
  return kBounds;
}

std::vector<FamilyErrors> Today(Cases& cases) {
  cases = ReadPublishedRuns(EVENKEEL_SOURCE_DIR "/tests/validation/runs");
  std::vector<Result> results;
  for (const Case& run : cases.covered) results.push_back({&run, Evaluate(run)});
  for (const Result& result : results) EXPECT_EQ(result.outcome.fault, "") << result.run->id;
  return ErrorsOf(results);
}

TEST(PublishedRunsTest, ErrorsGetNoWorse) {
  Cases cases;
  const std::vector<FamilyErrors> families = Today(cases);
  EXPECT_EQ(families.size(), Bounds().size());
  for (const FamilyErrors& family : families) {
    const auto bound = Bounds().find(family.family);
    ASSERT_NE(bound, Bounds().end()) << family.family;
    EXPECT_LE(family.time.mean_absolute, bound->second.time) << family.family;
    EXPECT_LE(family.memory.mean_absolute, bound->second.memory) << family.family;
  }
}

TEST(PublishedRunsTest, EveryRowIsCoveredOrHasAReason) {
  const Cases cases = ReadPublishedRuns(EVENKEEL_SOURCE_DIR "/tests/validation/runs");
  EXPECT_GE(cases.covered.size(), 1000u);
  for (const Uncovered& row : cases.uncovered) EXPECT_FALSE(row.reason.empty()) << row.id;
}

}  // namespace
}  // namespace evenkeel::validation
