#include "planner/simulate/held_passes.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

// What follows the first groups of micro-batches repeats them: fewer of them, in groups of the same
// size.
int64_t FewerAlike(const PipelineShape& shape) {
  const int64_t m = shape.micro_batches;
  const bool grouped = shape.schedule == Schedule::kInterleaved;
  const int64_t group = grouped ? MicroBatchGroup(shape.stages, m) : shape.stages;
  for (int64_t fewer = 7 * group + m % group; fewer < m; fewer += group) {
    if (!grouped || MicroBatchGroup(shape.stages, fewer) == group) return fewer;
  }
  return m;
}

// Calls `seen(held)` after each forward, with the micro-batches of each chunk held then.
template <typename Seen>
void GoThrough(PipelineShape shape, int64_t stage, Seen seen) {
  std::vector<int64_t> held(static_cast<size_t>(shape.chunks));
  if (shape.schedule == Schedule::kGPipe) {
    held.assign(held.size(), shape.micro_batches);
    return seen(held);
  }
  shape.micro_batches = FewerAlike(shape);
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

std::vector<int64_t> MostHeld(const PipelineShape& shape, int64_t stage) {
  std::vector<int64_t> most(static_cast<size_t>(shape.chunks));
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    for (size_t c = 0; c < held.size(); ++c) most[c] = std::max(most[c], held[c]);
  });
  return most;
}

}  // namespace evenkeel::planner
