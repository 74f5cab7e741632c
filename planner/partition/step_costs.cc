#include "planner/partition/step_costs.h"

namespace evenkeel::planner {

StepCosts::StepCosts(const SegmentTable& table)
    : table_(table),
      network_(table.job().cluster, table.job().constants),
      trained_before_(static_cast<size_t>(table.size()) + 1) {
  for (size_t i = 0; i + 1 < trained_before_.size(); ++i) {
    trained_before_[i + 1] = trained_before_[i];
    trained_before_[i + 1] += TrainedBy(table.profile().at(static_cast<int64_t>(i)));
  }
}

StageTimes StepCosts::At(int64_t s, int64_t i, int64_t j) {
  const int64_t recompute = table_.RecomputeTime(s, i, j), send = table_.SendTime(s, j);
  const auto& chain = table_.profile().chain;
  while (i > 0 && chain[static_cast<size_t>(i - 1)] == chain[static_cast<size_t>(j - 1)]) --i, --j;
  Known& known = KnownOf(i, j);
  if (known.recompute_ns != recompute) {
    const int64_t forward = table_.ForwardBefore(j) - table_.ForwardBefore(i);
    const int64_t both = table_.WorkBefore(j) - table_.WorkBefore(i);
    known.recompute_ns = recompute;
    known.times =
        TimesOf(table_.job().training.execution, known.sync,
                {.forward_ns = forward, .backward_ns = both - forward, .recompute_ns = recompute});
  }
  StageTimes times = known.times;
  times.send = send;
  if (s > 0) times.after_all[1] = 0;
  return times;
}

StepCosts::Known& StepCosts::KnownOf(int64_t i, int64_t j) {
  if (places_.empty()) places_.assign(trained_before_.size() * trained_before_.size(), -1);
  int32_t& place =
      places_[static_cast<size_t>(i) * trained_before_.size() + static_cast<size_t>(j)];
  if (place < 0) {
    place = static_cast<int32_t>(known_.size());
    const TrainedParameters trained =
        trained_before_[static_cast<size_t>(j)] - trained_before_[static_cast<size_t>(i)];
    known_.push_back({.sync = SyncOf(table_.job(), network_, table_.parallelism(), trained)});
  }
  return known_[static_cast<size_t>(place)];
}

}  // namespace evenkeel::planner
