#include "planner/simulate/schedule.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

// Returns the number of forwards that a stage runs before its first backward.
int64_t WarmUp(const PipelineShape& shape, int64_t stage) {
  const int64_t passes = shape.chunks * shape.micro_batches, behind = shape.stages - 1 - stage;
  switch (shape.schedule) {
    case Schedule::kOneFOneB:
    case Schedule::kZeroBubble:
      return std::min(passes, behind);
    case Schedule::kInterleaved:
      return std::min(passes, 2 * behind + (shape.chunks - 1) * shape.group());
    case Schedule::kGPipe:
      break;
  }
  return passes;
}

}  // namespace

int64_t PipelineShape::group() const {
  return given_group > 0 ? given_group : MicroBatchGroup(stages, micro_batches);
}

PipelineShape PipelineShape::WithFewer(int64_t fewer) const {
  PipelineShape shape = *this;
  shape.given_group = group();
  shape.micro_batches = fewer;
  return shape;
}

int64_t MicroBatchGroup(int64_t stages, int64_t micro_batches) {
  if (micro_batches <= stages) return micro_batches;
  int64_t group = stages;
  while (micro_batches % group != 0 && micro_batches % group < stages) ++group;
  return group;
}

StagePasses::StagePasses(const PipelineShape& shape, int64_t stage)
    : stage_(static_cast<int32_t>(stage)),
      chunks_(static_cast<int32_t>(shape.chunks)),
      micro_batches_(static_cast<int32_t>(shape.micro_batches)),
      group_(static_cast<int32_t>(shape.group())),
      split_(SplitsBackward(shape.schedule)),
      warm_up_(WarmUp(shape, stage)),
      forward_{0, 0, 0, std::min(group_, micro_batches_)},
      backward_(forward_),
      forwards_left_(shape.chunks * shape.micro_batches),
      backwards_left_(forwards_left_),
      weight_gradients_left_(split_ ? forwards_left_ : 0),
      deferred_(stage) {
  Next();
}

std::vector<Pass> StageOrder(const PipelineShape& shape, int64_t stage) {
  std::vector<Pass> order;
  const int64_t kinds = PassKindsOf(shape.schedule);
  order.reserve(static_cast<size_t>(kinds * shape.chunks * shape.micro_batches));
  for (StagePasses passes(shape, stage); !passes.done(); passes.Next())
    order.push_back(passes.now());
  return order;
}

int64_t ForwardsOf(const PipelineShape& shape, int64_t chunk, int64_t passes) {
  const int64_t block = shape.group() * shape.chunks, groups = passes / block;
  const int64_t before = groups * shape.group();  // micro-batches in whole groups
  const int64_t group = std::min(shape.group(), shape.micro_batches - before);
  return before + std::clamp<int64_t>(passes - groups * block - chunk * group, 0, group);
}

InFlight MostInFlight(const PipelineShape& shape, int64_t stage) {
  const int64_t passes = shape.chunks * shape.micro_batches;
  InFlight most = {std::min(passes, WarmUp(shape, stage) + 1)};
  if (SplitsBackward(shape.schedule)) {
    most.weight_gradient = std::min(stage, passes - most.whole);
  }
  return most;
}

}  // namespace evenkeel::planner
