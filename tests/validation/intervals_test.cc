// The intervals that plans state hold on published runs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/trainer/trainers.h"
#include "tests/validation/harness/evaluate.h"
#include "tests/validation/harness/rows.h"
#include "tests/validation/harness/run_report.h"

namespace evenkeel::validation {
namespace {

constexpr char kRuns[] = EVENKEEL_SOURCE_DIR "/tests/validation/runs";

std::vector<FamilyErrors> FamiliesOf(const planner::Trainer* every) {
  const Cases cases = ReadPublishedRuns(kRuns, every);
  std::vector<Result> results;
  for (const Case& run : cases.covered) results.push_back({&run, Evaluate(run)});
  return ErrorsOf(results);
}

double ShareInside(const std::vector<FamilyErrors>& families, Inside FamilyErrors::*figure) {
  int64_t count = 0, inside = 0;
  for (const FamilyErrors& family : families) {
    count += (family.*figure).count;
    inside += (family.*figure).inside;
  }
  return static_cast<double>(inside) / static_cast<double>(count);
}

// Families of few runs may lie outside as a whole: their runs have their errors in common.
void ExpectNoFamilyIsMissed(const std::vector<FamilyErrors>& families) {
  for (const FamilyErrors& family : families) {
    if (family.time_inside.count < 20) continue;
    EXPECT_GE(static_cast<double>(family.time_inside.inside),
              0.6 * static_cast<double>(family.time_inside.count))
        << family.family;
  }
}

TEST(IntervalsTest, FourOfFiveStepsAreInside) {
  const std::vector<FamilyErrors> families = FamiliesOf(nullptr);
  EXPECT_GE(ShareInside(families, &FamilyErrors::time_inside), 0.75);
  EXPECT_LE(ShareInside(families, &FamilyErrors::time_inside), 0.90);
  EXPECT_GE(ShareInside(families, &FamilyErrors::memory_inside), 0.75);
  EXPECT_LE(ShareInside(families, &FamilyErrors::memory_inside), 0.90);
  ExpectNoFamilyIsMissed(families);
}

// As if nobody knew the trainers: none of these runs was fitted then but Megatron's.
TEST(IntervalsTest, FourOfFiveStepsOfUnknownTrainersAreInside) {
  const std::vector<FamilyErrors> families = FamiliesOf(&planner::GenericTrainer());
  EXPECT_GE(ShareInside(families, &FamilyErrors::time_inside), 0.75);
  EXPECT_LE(ShareInside(families, &FamilyErrors::time_inside), 0.90);
  ExpectNoFamilyIsMissed(families);
}

}  // namespace
}  // namespace evenkeel::validation
