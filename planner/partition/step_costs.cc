#include "planner/partition/step_costs.h"

namespace evenkeel::planner {

StageTimes TimesOf(const Job& job, const Parallelism& p, const StageWork& work) {
  return {.forward = work.forward_ns,
          .backward = work.backward_ns + work.recompute_ns,
          .send = work.send_ns,
          .after_own = 0,
          .after_all = {DataSyncTime(job, p, {work}), OptimizerTime(job, p, {work})}};
}

std::vector<StageTimes> TimesOfStages(const Job& job, const Parallelism& p,
                                      const std::vector<StageWork>& stages) {
  std::vector<StageTimes> times;
  for (const StageWork& work : stages) times.push_back(TimesOf(job, p, work));
  return times;
}

StepCosts::StepCosts(const SegmentTable& table, StageRule rule)
    : table_(table),
      rule_(rule),
      known_(static_cast<size_t>((table.size() + 1) * (table.size() + 1))) {}

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
    known = {recompute, rule_(table_.job(), table_.parallelism(), work)};
  }
  StageTimes times = known.times;
  times.send = send;
  return times;
}

}  // namespace evenkeel::planner
