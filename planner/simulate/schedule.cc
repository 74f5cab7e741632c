#include "planner/simulate/schedule.h"

#include <algorithm>

#include "planner/simulate/merged_passes.h"

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
      split_(shape.schedule == Schedule::kZeroBubble),
      warm_up_(WarmUp(shape, stage)),
      forward_{0, 0, 0, std::min(group_, micro_batches_)},
      backward_(forward_),
      forwards_left_(shape.chunks * shape.micro_batches),
      backwards_left_(forwards_left_),
      weight_gradients_left_(split_ ? forwards_left_ : 0),
      deferred_(stage) {
  Next();
}

void StagePasses::Next() {
  if (warm_up_ > 0) {
    --warm_up_;
    return Forward();
  }
  switch (turn_) {
    case Turn::kForward:
      turn_ = Turn::kBackward;
      if (forwards_left_ > 0) return Forward();
      [[fallthrough]];
    case Turn::kBackward:
      if (backwards_left_ > 0) {
        turn_ = split_ && weight_gradients_left_ - backwards_left_ >= deferred_
                    ? Turn::kWeightGradient
                    : Turn::kForward;
        --backwards_left_;
        now_ = {PassKind::kBackward, stage_, chunks_ - 1 - backward_.chunk, backward_.micro_batch};
        return Advance(backward_);
      }
      [[fallthrough]];
    case Turn::kWeightGradient:
      done_ = weight_gradients_left_ == 0;
      if (done_) return;
      turn_ = Turn::kForward;
      now_ = {PassKind::kWeightGradient, stage_, 0,
              micro_batches_ - static_cast<int32_t>(weight_gradients_left_--)};
  }
}

void StagePasses::Forward() {
  --forwards_left_;
  now_ = {PassKind::kForward, stage_, forward_.chunk, forward_.micro_batch};
  Advance(forward_);
}

void StagePasses::Advance(Place& place) const {
  if (++place.micro_batch < place.end) return;
  place.micro_batch = place.first;
  if (++place.chunk < chunks_) return;
  place.chunk = 0;
  place.micro_batch = place.first = place.end;
  place.end = std::min(place.first + group_, micro_batches_);
}

std::vector<Pass> StageOrder(const PipelineShape& shape, int64_t stage) {
  std::vector<Pass> order;
  const int64_t kinds = shape.schedule == Schedule::kZeroBubble ? 3 : 2;
  order.reserve(static_cast<size_t>(kinds * shape.chunks * shape.micro_batches));
  for (StagePasses passes(shape, stage); !passes.done(); passes.Next())
    order.push_back(passes.now());
  return order;
}

std::vector<Pass> WorkOrder(const PipelineShape& shape, const Stop& stop) {
  std::vector<Pass> order;
  const int64_t kinds = shape.schedule == Schedule::kZeroBubble ? 3 : 2;
  order.reserve(static_cast<size_t>(kinds * shape.virtual_stages() * shape.micro_batches));
  MergedPasses(shape, stop).Run([&](const Pass& pass, size_t) { order.push_back(pass); });
  return order;
}

InFlight MostInFlight(const PipelineShape& shape, int64_t stage) {
  const int64_t passes = shape.chunks * shape.micro_batches;
  InFlight most = {std::min(passes, WarmUp(shape, stage) + 1)};
  if (shape.schedule == Schedule::kZeroBubble) {
    most.weight_gradient = std::min(stage, passes - most.whole);
  }
  return most;
}

}  // namespace evenkeel::planner
