#include "planner/simulate/held_passes.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace evenkeel::planner {
namespace {

constexpr int64_t kGroupsLike = 7;

// Calls `seen(held)` after each forward. `held` counts the micro-batches of each chunk held then.
template <typename Seen>
void GoThrough(PipelineShape shape, int64_t stage, Seen seen) {
  std::vector<int64_t> held(static_cast<size_t>(shape.chunks));
  if (shape.schedule == Schedule::kGPipe) {
    held.assign(held.size(), shape.micro_batches);
    return seen(held);
  }
  // Later groups repeat the first ones.
  const int64_t group = shape.chunks > 1 ? shape.group() : shape.stages;
  shape = shape.WithFewer(
      std::min(shape.micro_batches, kGroupsLike * group + shape.micro_batches % group));
  const PassKind release =
      shape.schedule == Schedule::kZeroBubble ? PassKind::kWeightGradient : PassKind::kBackward;
  for (StagePasses passes(shape, stage); !passes.done(); passes.Next()) {
    const Pass& pass = passes.now();
    int64_t& of_chunk = held[static_cast<size_t>(pass.chunk)];
    if (pass.kind == release) --of_chunk;
    if (pass.kind != PassKind::kForward) continue;
    ++of_chunk;
    seen(held);
  }
}

}  // namespace

std::vector<int64_t> HeldAtPeak(const PipelineShape& shape, int64_t stage,
                                const std::vector<int64_t>& kept) {
  std::vector<int64_t> peak;
  int64_t most = -1;
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    int64_t sum = 0;
    for (size_t c = 0; c < held.size(); ++c) sum += held[c] * kept[c];
    if (sum > most) most = sum, peak = held;
  });
  return peak;
}

std::vector<std::vector<int64_t>> PeaksHeld(const PipelineShape& shape, int64_t stage) {
  struct Peak {
    std::vector<int64_t> held;
    int64_t sum = 0;
  };
  std::vector<Peak> peaks;
  // A peak can only cover one with a smaller sum; most peaks of a stage have the same sum.
  const auto covers = [](const Peak& a, const Peak& b) {
    if (a.sum <= b.sum) return false;
    for (size_t c = 0; c < a.held.size(); ++c)
      if (a.held[c] < b.held[c]) return false;
    return true;
  };
  std::set<std::vector<int64_t>> met;  // groups repeat each other
  int64_t least = 0, most = 0;         // sums of the peaks
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    if (!met.insert(held).second) return;
    const Peak now{held, std::accumulate(held.begin(), held.end(), int64_t{0})};
    const auto covered = [&](const Peak& peak) { return covers(peak, now); };
    if (now.sum < most && std::any_of(peaks.begin(), peaks.end(), covered)) return;
    if (now.sum > least) std::erase_if(peaks, [&](const Peak& peak) { return covers(now, peak); });
    least = peaks.empty() ? now.sum : std::min(least, now.sum);
    most = std::max(most, now.sum);
    peaks.push_back(now);
  });
  std::vector<std::vector<int64_t>> all;
  for (Peak& peak : peaks) all.push_back(std::move(peak.held));
  return all;
}

std::vector<int64_t> MostHeld(const PipelineShape& shape, int64_t stage) {
  // With one chunk under 1F1B, a stage fills up until the first backward comes back.
  if (shape.chunks == 1 && shape.schedule == Schedule::kOneFOneB)
    return {std::min(shape.micro_batches, shape.stages - stage)};
  std::vector<int64_t> most(static_cast<size_t>(shape.chunks));
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    for (size_t c = 0; c < held.size(); ++c) most[c] = std::max(most[c], held[c]);
  });
  return most;
}

}  // namespace evenkeel::planner
