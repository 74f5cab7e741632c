#include "planner/simulate/schedule.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

constexpr int64_t kUnitsPerMergedPass = 10;  // units of Stop::Spend

Pass MakePass(PassKind kind, int64_t stage, int64_t chunk, int64_t micro_batch) {
  return {kind, static_cast<int32_t>(stage), static_cast<int32_t>(chunk),
          static_cast<int32_t>(micro_batch)};
}

std::vector<Pass> Forwards(const PipelineShape& shape, int64_t stage) {
  const int64_t group = shape.group();
  std::vector<Pass> passes;
  passes.reserve(static_cast<size_t>(shape.chunks * shape.micro_batches));
  for (int64_t first = 0; first < shape.micro_batches; first += group) {
    const int64_t end = std::min(shape.micro_batches, first + group);
    for (int64_t c = 0; c < shape.chunks; ++c) {
      for (int64_t k = first; k < end; ++k) {
        passes.push_back(MakePass(PassKind::kForward, stage, c, k));
      }
    }
  }
  return passes;
}

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

// Takes passes one after the other from the stages' orders, each as soon as those it waits for were
// taken.
class Merge {
 public:
  Merge(const PipelineShape& shape, const Stop& stop)
      : shape_(shape),
        stop_(stop),
        next_(static_cast<size_t>(shape.stages)),
        forwards_(static_cast<size_t>(shape.virtual_stages())),
        backwards_(static_cast<size_t>(shape.virtual_stages())) {
    for (int64_t s = 0; s < shape.stages; ++s) {
      stop_.Spend(kUnitsPerMergedPass * shape.chunks * shape.micro_batches);
      orders_.push_back(StageOrder(shape, s));
    }
  }

  std::vector<Pass> Run() {
    size_t passes = 0;
    for (const std::vector<Pass>& order : orders_) passes += order.size();
    std::vector<Pass> merged;
    merged.reserve(passes);
    for (size_t before = 1; before != merged.size() && merged.size() < passes;) {
      before = merged.size();
      for (size_t s = 0; s < orders_.size(); ++s) {
        const size_t taken = next_[s];
        while (next_[s] < orders_[s].size() && Ready(orders_[s][next_[s]])) {
          merged.push_back(orders_[s][next_[s]++]);
        }
        stop_.Spend(kUnitsPerMergedPass * static_cast<int64_t>(next_[s] - taken) + 1);
      }
    }
    return merged;
  }

 private:
  // Returns whether the passes before `pass` are done. Every virtual stage takes its micro-batches
  // in ascending order, forward and backward, so a count says which are done.
  bool Ready(const Pass& pass) {
    if (pass.kind == PassKind::kWeightGradient) return true;
    const size_t q = static_cast<size_t>(shape_.virtual_stage(pass.stage, pass.chunk));
    if (pass.kind == PassKind::kForward) {
      if (q > 0 && forwards_[q - 1] <= pass.micro_batch) return false;
      ++forwards_[q];
      return true;
    }
    const bool last = q + 1 == backwards_.size();
    if ((last ? forwards_[q] : backwards_[q + 1]) <= pass.micro_batch) return false;
    ++backwards_[q];
    return true;
  }

  const PipelineShape& shape_;
  const Stop stop_;
  std::vector<std::vector<Pass>> orders_;
  std::vector<size_t> next_;                   // by stage
  std::vector<int64_t> forwards_, backwards_;  // by virtual stage: number taken
};

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

std::vector<Pass> StageOrder(const PipelineShape& shape, int64_t stage) {
  const std::vector<Pass> forwards = Forwards(shape, stage);
  const size_t warm_up = static_cast<size_t>(WarmUp(shape, stage)), passes = forwards.size();
  const bool split = shape.schedule == Schedule::kZeroBubble;
  const size_t deferred = split ? static_cast<size_t>(stage) : passes;
  std::vector<Pass> order(forwards.begin(), forwards.begin() + static_cast<int64_t>(warm_up));
  order.reserve(passes * (split ? 3 : 2));
  const auto weight_gradient = [&](size_t i) {
    order.push_back(MakePass(PassKind::kWeightGradient, stage, 0, static_cast<int64_t>(i)));
  };
  for (size_t i = 0; i < passes; ++i) {
    if (warm_up + i < passes) order.push_back(forwards[warm_up + i]);
    order.push_back(MakePass(PassKind::kBackward, stage, shape.chunks - 1 - forwards[i].chunk,
                             forwards[i].micro_batch));
    if (split && i >= deferred) weight_gradient(i - deferred);
  }
  if (split) {
    for (size_t i = passes - std::min(passes, deferred); i < passes; ++i) weight_gradient(i);
  }
  return order;
}

std::vector<Pass> WorkOrder(const PipelineShape& shape, const Stop& stop) {
  return Merge(shape, stop).Run();
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
