#include "planner/simulate/equal_packs.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace evenkeel::planner {
namespace {

constexpr int64_t kRoundsPerStage = 4;

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
      if (s > 0) {
        const int64_t data = forward_[at - 1] + stages[at - 1].send;
        margins_[2 * at] = now - data;
        now = std::max(now, data);
      }
      now += stage.forward;
      forward_[at] = now;
    }
    if (round >= 0) {
      if (s + 1 < count) {
        const int64_t data = backward_[at + 1] + stage.send;
        margins_[2 * at + 1] = now - data;
        now = std::max(now, data);
      }
      now += stage.backward;
      backward_[at] = now;
    }
    now_[at] = now;
  }
  events_ += count;
}

void EqualPacks::Remember() {
  std::vector<int64_t>& state = rounds_.emplace_back();
  for (const auto* part : {&now_, &forward_, &backward_, &margins_})
    state.insert(state.end(), part->begin(), part->end());
}

// Returns whether all times of the last `period` rounds, and of the round before them, grew equally
// since `period` rounds earlier, and all maxima took the same sides as then.
bool EqualPacks::Repeats(int64_t period) const {
  const int64_t last = std::ssize(rounds_) - 1;
  if (last < 2 * period) return false;
  const auto at = [this](int64_t round) -> const auto& {
    return rounds_[static_cast<size_t>(round)];
  };
  for (size_t i = 0; i < at(last).size(); ++i) {
    const int64_t grows = at(last)[i] - at(last - period)[i];
    const bool is_margin = i + margins_.size() >= at(last).size();
    for (int64_t round = last; round >= last - period; --round) {
      const int64_t after = at(round)[i], before = at(round - period)[i];
      if (after - before != grows) return false;
      if (is_margin && (after < 0) != (before < 0)) return false;
    }
  }
  return true;
}

// A round consists of sums and maxima of times of this round and the one before. Once rounds
// repeat, they go on repeating while every maximum takes the same side as a period earlier, by
// induction over the order in which rounds compute their times. They stop when a margin is used up.
int64_t EqualPacks::PeriodsToSkip(int64_t period) const {
  const int64_t last = std::ssize(rounds_) - 1;
  const size_t first = rounds_.back().size() - margins_.size();
  int64_t periods = std::numeric_limits<int64_t>::max();
  for (size_t i = first; i < rounds_.back().size(); ++i) {
    for (int64_t round = last; round > last - period; --round) {
      const int64_t margin = rounds_[static_cast<size_t>(round)][i];
      const int64_t grows = margin - rounds_[static_cast<size_t>(round - period)][i];
      if (margin >= 0 && grows < 0) periods = std::min(periods, margin / -grows);
      if (margin < 0 && grows > 0) periods = std::min(periods, (-margin - 1) / grows);
    }
  }
  return periods;
}

// Skips rounds that certainly repeat those before. Returns how many it skipped.
int64_t EqualPacks::Skip(int64_t at_most) {
  const int64_t stages = std::ssize(now_);
  for (int64_t period = 1; period <= stages; ++period) {
    if (!Repeats(period)) continue;
    const int64_t periods = std::min(PeriodsToSkip(period), at_most / period);
    if (periods <= 0) continue;
    const std::vector<int64_t>& before = rounds_[rounds_.size() - 1 - static_cast<size_t>(period)];
    size_t i = 0;
    for (auto* part : {&now_, &forward_, &backward_}) {
      for (int64_t& value : *part) value += periods * (value - before[i++]);
    }
    rounds_.clear();
    return periods * period;
  }
  return 0;
}

const std::vector<int64_t>& EqualPacks::Run(std::span<const StageTimes> stages,
                                            int64_t micro_batches) {
  const int64_t count = static_cast<int64_t>(stages.size());
  for (std::vector<int64_t>* times : {&now_, &forward_, &backward_})
    times->assign(stages.size(), 0);
  margins_.assign(2 * stages.size(), 0);
  rounds_.clear();
  // The last round in which every stage has both a forward and a backward.
  const int64_t last_full = micro_batches - count;
  for (int64_t round = 1 - count; round < micro_batches; ++round) {
    const bool watch = round > 0 && round + 2 < last_full;
    if (watch) now_before_ = now_, forward_before_ = forward_;
    stop_.Spend(8 * count);
    Round(stages, round, micro_batches);
    if (!watch) continue;
    const int64_t by = now_.front() - now_before_.front();
    if (Shifted(now_before_, now_, by) && Shifted(forward_before_, forward_, by)) {
      for (std::vector<int64_t>* times : {&now_, &forward_, &backward_}) {
        for (int64_t& time : *times) time += by * (last_full - round);
      }
      round = last_full;
      continue;
    }
    // Most pipelines need no more rounds than this.
    if (round < kRoundsPerStage * count) continue;
    Remember();
    if (std::ssize(rounds_) <= 2 * count) continue;
    const int64_t skipped = Skip(last_full - round);
    if (skipped == 0) rounds_.erase(rounds_.begin(), rounds_.begin() + count);
    round += skipped;
  }
  return now_;
}

}  // namespace evenkeel::planner
