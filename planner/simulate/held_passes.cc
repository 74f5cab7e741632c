#include "planner/simulate/held_passes.h"

#include <algorithm>

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
  for (const Pass& pass : StageOrder(shape, stage)) {
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
  std::vector<std::vector<int64_t>> peaks;
  const auto covers = [](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    for (size_t c = 0; c < a.size(); ++c)
      if (a[c] < b[c]) return false;
    return true;
  };
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    for (const std::vector<int64_t>& peak : peaks)
      if (covers(peak, held)) return;
    std::erase_if(peaks, [&](const std::vector<int64_t>& peak) { return covers(held, peak); });
    peaks.push_back(held);
  });
  return peaks;
}

std::vector<int64_t> MostHeld(const PipelineShape& shape, int64_t stage) {
  // With one chunk a stage fills up until the first backward (or weight gradient) comes back.
  if (shape.chunks == 1 && shape.schedule == Schedule::kOneFOneB)
    return {std::min(shape.micro_batches, shape.stages - stage)};
  std::vector<int64_t> most(static_cast<size_t>(shape.chunks));
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    for (size_t c = 0; c < held.size(); ++c) most[c] = std::max(most[c], held[c]);
  });
  return most;
}

}  // namespace evenkeel::planner
