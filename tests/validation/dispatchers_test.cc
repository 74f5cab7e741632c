// Published runs of one release that differ only in their dispatcher of experts: which is fastest.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/validation/harness/evaluate.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using planner::Dispatcher;

struct Best {
  double measured = 0, predicted = 0;
  Dispatcher fastest = Dispatcher::kAllToAll, predicted_fastest = Dispatcher::kAllToAll;
  int64_t runs = 0;
};

auto DispatcherSetting(const Case& run) {
  const planner::Parallelism& p = run.spec.parallelism;
  const planner::Execution& e = run.job.training.execution;
  return std::tuple(run.family, run.job.model.language_model.name, run.job.cluster.gpu_count,
                    p.tensor, p.pipeline, p.expert, p.virtual_stages, run.spec.micro_batches,
                    e.overlap_experts, e.expert_capacity);
}

// Families of one release each. DeepEP over two transports counts as one dispatcher: its faster
// run.
TEST(DispatchersTest, TheFastestIsToldInMostGroups) {
  const Cases cases = ReadPublishedRuns(EVENKEEL_SOURCE_DIR "/tests/validation/runs");
  std::map<decltype(DispatcherSetting(Case())), Best> groups;
  std::map<decltype(DispatcherSetting(Case())), std::map<Dispatcher, int64_t>> kinds;
  for (const Case& run : cases.covered) {
    if (run.family != "aws-dispatchers" && run.family != "aws-kimi-k2" &&
        run.family != "xtuner-moe")
      continue;
    // XTuner's weak runs have unbalanced routing, those without DeepEP a balanced one.
    if (run.family == "xtuner-moe" && run.weak) continue;
    const Outcome outcome = Evaluate(run);
    if (run.measured.empty() || !outcome.predicted.front()) continue;
    const Dispatcher dispatcher = run.job.training.execution.dispatcher;
    const double measured = run.measured.front().value, predicted = *outcome.predicted.front();
    Best& best = groups[DispatcherSetting(run)];
    ++kinds[DispatcherSetting(run)][dispatcher];
    if (best.runs == 0 || measured < best.measured) {
      best.measured = measured;
      best.fastest = dispatcher;
    }
    if (best.runs == 0 || predicted < best.predicted) {
      best.predicted = predicted;
      best.predicted_fastest = dispatcher;
    }
    ++best.runs;
  }
  int64_t told = 0, all = 0;
  for (const auto& [setting, best] : groups) {
    if (kinds[setting].size() < 2) continue;
    ++all;
    told += best.fastest == best.predicted_fastest;
  }
  EXPECT_GE(all, 20);
  EXPECT_GE(told * 10, all * 9) << told << " of " << all;
  RecordProperty("told", std::to_string(told) + " of " + std::to_string(all));
}

}  // namespace
}  // namespace evenkeel::validation
