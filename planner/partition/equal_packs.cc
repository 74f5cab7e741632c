#include "planner/partition/equal_packs.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

// Returns whether all times grew by exactly `by`.
bool Shifted(const std::vector<int64_t>& before, const std::vector<int64_t>& after, int64_t by) {
  for (size_t s = 0; s < before.size(); ++s) {
    if (after[s] - before[s] != by) return false;
  }
  return true;
}

}  // namespace

int64_t EqualPackStep(std::span<const StageTimes> stages, std::span<const int64_t> ends) {
  int64_t last = 0;
  std::array<int64_t, 2> phases{};
  for (size_t s = 0; s < stages.size(); ++s) {
    last = std::max(last, ends[s] + stages[s].after_own);
    for (size_t i = 0; i < phases.size(); ++i)
      phases[i] = std::max(phases[i], stages[s].after_all[i]);
  }
  return last + phases[0] + phases[1];
}

// In round r, stage s runs the forward of pack r + P - 1 - s and the backward of pack r, if there
// are such packs: this is its order in 1F1B. If stages run from the last to the first, everything
// that a pass needs is done in this round or the one before.
void EqualPacks::Round(std::span<const StageTimes> stages, int64_t round, int64_t micro_batches) {
  const int64_t count = static_cast<int64_t>(stages.size());
  // Stages whose forward of this round exists.
  const int64_t first = std::max<int64_t>(0, round + count - micro_batches);
  const int64_t last = std::min(count - 1, round + count - 1);
  for (int64_t s = round < 0 ? last : count - 1; s >= 0; --s) {
    const size_t at = static_cast<size_t>(s);
    const StageTimes& stage = stages[at];
    int64_t now = now_[at];
    if (s >= first && s <= last) {
      if (s > 0) now = std::max(now, forward_[at - 1] + stages[at - 1].send);
      now += stage.forward;
      forward_[at] = now;
    }
    if (round >= 0) {
      if (s + 1 < count) now = std::max(now, backward_[at + 1] + stage.send);
      now += stage.backward;
      backward_[at] = now;
    }
    now_[at] = now;
  }
  events_ += count;
}

const std::vector<int64_t>& EqualPacks::Run(std::span<const StageTimes> stages,
                                            int64_t micro_batches) {
  const int64_t count = static_cast<int64_t>(stages.size());
  for (std::vector<int64_t>* times : {&now_, &forward_, &backward_})
    times->assign(stages.size(), 0);
  // The last round in which every stage has both a forward and a backward.
  const int64_t last_full = micro_batches - count;
  for (int64_t round = 1 - count; round < micro_batches; ++round) {
    const bool watch = round > 0 && round + 2 < last_full;
    if (watch) now_before_ = now_, forward_before_ = forward_;
    stop_.Spend(8 * count);
    Round(stages, round, micro_batches);
    if (!watch) continue;
    const int64_t by = now_.front() - now_before_.front();
    if (!Shifted(now_before_, now_, by) || !Shifted(forward_before_, forward_, by)) continue;
    for (std::vector<int64_t>* times : {&now_, &forward_, &backward_}) {
      for (int64_t& time : *times) time += by * (last_full - round);
    }
    round = last_full;
  }
  return now_;
}

}  // namespace evenkeel::planner
