#include "planner/check/most_held.h"

#include <algorithm>

namespace evenkeel::planner {

HeldMost MostHeldOf(const Plan& plan, int64_t stage, const std::vector<int64_t>& of_chunk) {
  int64_t m = plan.prediction.micro_batches;
  const int64_t stages = plan.parallelism.pipeline, v = plan.parallelism.virtual_stages;
  if (v == 1) {
    // After a backward, zero-bubble keeps the tensors that the weight gradient needs, so every
    // stage holds as many passes as stage 0.
    const int64_t held = plan.schedule == Schedule::kGPipe        ? m
                         : plan.schedule == Schedule::kZeroBubble ? std::min(m, stages)
                                                                  : std::min(m, stages - stage);
    return {held, held * of_chunk.front()};
  }
  // Megatron-Core: groups of micro-batches go through each chunk in turn. A group has P of them, or
  // the next larger number whose remainder is 0 or at least P; fewer than P form one group.
  int64_t group = std::min(stages, m);
  while (group < m && m % group != 0 && m % group < stages) ++group;
  if (m > 8 * group) m = 7 * group + m % group;  // later groups repeat the first few
  const int64_t warm_up = std::min(m * v, 2 * (stages - 1 - stage) + (v - 1) * group);
  const auto chunk_of = [&](int64_t pass) {
    const int64_t round = pass / (group * v), in_round = pass % (group * v);
    return in_round / std::min(group, m - round * group);
  };
  HeldMost most, now;
  for (int64_t forwards = 0, backwards = 0; backwards < m * v;) {
    if (forwards < m * v && forwards <= warm_up + backwards) {
      now.bytes += of_chunk[static_cast<size_t>(chunk_of(forwards++))];
      most = {std::max(most.passes, ++now.passes), std::max(most.bytes, now.bytes)};
    } else {
      now.bytes -= of_chunk[static_cast<size_t>(v - 1 - chunk_of(backwards++))];
      --now.passes;
    }
  }
  return most;
}

}  // namespace evenkeel::planner
