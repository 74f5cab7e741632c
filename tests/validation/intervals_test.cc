// Tests that the intervals that plans state hold on published runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
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

// A family of few runs may be outside as a whole, because its runs have their errors in common.
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

// Pairs of runs of one group, by how far apart they are predicted to be.
struct Order {
  int64_t pairs = 0, right = 0;
  double share() const { return static_cast<double>(right) / static_cast<double>(pairs); }
};

TEST(IntervalsTest, RunsThatAreFarApartAreToldApart) {
  const Cases cases = ReadPublishedRuns(kRuns);
  std::map<std::string, std::vector<std::pair<double, double>>> groups;  // predicted, measured
  for (const Case& run : cases.covered) {
    const Outcome outcome = Evaluate(run);
    for (size_t i = 0; i < run.measured.size(); ++i) {
      if (run.group.empty() || run.measured[i].figure != Figure::kIteration) continue;
      groups[run.family + run.group].push_back({*outcome.predicted[i], run.measured[i].value});
    }
  }
  Order near, just_apart;
  for (const auto& [name, runs] : groups) {
    for (size_t a = 0; a < runs.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        const auto [fast, slow] = std::minmax(runs[a], runs[b]);
        const double apart = slow.first / fast.first - 1;
        if (apart > 1.5 * planner::kDistinguishableRatio) continue;
        Order& order = apart < planner::kDistinguishableRatio ? near : just_apart;
        ++order.pairs;
        order.right += fast.second <= slow.second;
      }
    }
  }
  const double percent = 100 * planner::kDistinguishableRatio;
  std::printf("%lld pairs within %.0f%%: %.0f%% in the right order; %lld up to %.0f%%: %.0f%%\n",
              static_cast<long long>(near.pairs), percent, 100 * near.share(),
              static_cast<long long>(just_apart.pairs), 1.5 * percent, 100 * just_apart.share());
  EXPECT_GT(near.pairs, 500);
  EXPECT_LT(near.share(), 0.8);
  EXPECT_GT(just_apart.pairs, 200);
  EXPECT_GE(just_apart.share(), 0.8);
}

// Treats all trainers as unknown. Then none of these runs was fitted except Megatron's.
TEST(IntervalsTest, FourOfFiveStepsOfUnknownTrainersAreInside) {
  const std::vector<FamilyErrors> families = FamiliesOf(&planner::GenericTrainer());
  EXPECT_GE(ShareInside(families, &FamilyErrors::time_inside), 0.75);
  EXPECT_LE(ShareInside(families, &FamilyErrors::time_inside), 0.90);
  ExpectNoFamilyIsMissed(families);
}

}  // namespace
}  // namespace evenkeel::validation
