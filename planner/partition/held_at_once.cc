#include <algorithm>

#include "planner/partition/chunked_search.h"

namespace evenkeel::planner {
namespace {

// Groups after the first few repeat what those hold.
constexpr int64_t kGroups = 8;

// Fewer micro-batches that go through the schedule in the same groups.
PipelineShape Shortened(PipelineShape shape) {
  const int64_t group = MicroBatchGroup(shape.stages, shape.micro_batches);
  for (int64_t groups = kGroups; groups < 2 * kGroups; ++groups) {
    const int64_t fewer = groups * group + shape.micro_batches % group;
    if (fewer < shape.micro_batches && MicroBatchGroup(shape.stages, fewer) == group) {
      shape.micro_batches = fewer;
      break;
    }
  }
  return shape;
}

bool Covers(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  for (size_t c = 0; c < a.size(); ++c) {
    if (a[c] < b[c]) return false;
  }
  return true;
}

}  // namespace

std::vector<std::vector<int64_t>> HeldAtOnce(const PipelineShape& shape, int64_t stage) {
  if (shape.chunks == 1) return {{MostInFlight(shape, stage).whole}};
  std::vector<std::vector<int64_t>> moments;
  std::vector<int64_t> held(static_cast<size_t>(shape.chunks), 0);
  for (const Pass& pass : StageOrder(Shortened(shape), stage)) {
    int64_t& count = held[static_cast<size_t>(pass.chunk)];
    if (pass.kind == PassKind::kBackward) --count;
    if (pass.kind != PassKind::kForward) continue;
    ++count;
    const bool known = std::any_of(moments.begin(), moments.end(),
                                   [&](const auto& moment) { return Covers(moment, held); });
    if (known) continue;
    std::erase_if(moments, [&](const auto& moment) { return Covers(held, moment); });
    moments.push_back(held);
  }
  return moments;
}

}  // namespace evenkeel::planner
