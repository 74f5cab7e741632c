#include "planner/partition/step_costs.h"

namespace evenkeel::planner {

StepCosts::StepCosts(const SegmentTable& table)
    : table_(table), known_(static_cast<size_t>((table.size() + 1) * (table.size() + 1))) {}

StageTimes StepCosts::At(int64_t s, int64_t i, int64_t j) {
  const int64_t recompute = table_.RecomputeTime(s, i, j), send = table_.SendTime(s, j);
  const auto& chain = table_.profile().chain;
  while (i > 0 && chain[static_cast<size_t>(i - 1)] == chain[static_cast<size_t>(j - 1)]) --i, --j;
  Known& known = known_[static_cast<size_t>(i * (table_.size() + 1) + j)];
  if (known.recompute_ns != recompute) {
    StageWork work =
        StageWorks(table_.job(), table_.profile(), table_.parallelism(), {i, j}, {ModeCounts{}})
            .front();
    work.recompute_ns = recompute;
    known = {recompute, TimesOf(table_.job(), table_.parallelism(), work)};
  }
  StageTimes times = known.times;
  times.send = send;
  if (s > 0) times.after_all[1] = 0;
  return times;
}

}  // namespace evenkeel::planner
