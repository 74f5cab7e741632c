#include "planner/simulate/pipeline_bound.h"

#include <algorithm>
#include <limits>

namespace evenkeel::planner {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Sums and minima of one chunk over all micro-batches.
struct Unit {
  int64_t forward = 0, backward = 0, weight_gradient = 0;  // sums
  int64_t least_forward = kMost, least_backward = kMost;   // backward without weight gradient
};

}  // namespace

int64_t PipelineLowerBound(const PipelineSpec& spec) {
  const PipelineShape& shape = spec.shape;
  const bool split = SplitsBackward(shape.schedule);
  const PassTable forward(spec.forward_ns, shape), backward(spec.backward_ns, shape);
  const PassTable weight_gradient(spec.weight_gradient_ns, shape);
  const size_t units = static_cast<size_t>(shape.virtual_stages());
  const size_t chunks = static_cast<size_t>(shape.chunks);
  std::vector<Unit> sums(units);
  int64_t bound = 0;
  // Micro-batches that are all alike are not visited one by one, because there may be billions.
  const bool alike = forward.alike() && backward.alike() && weight_gradient.alike();
  const int64_t times = alike ? shape.micro_batches : 1;
  for (int64_t k = 0; k < shape.micro_batches; k += times) {
    int64_t through = 0;
    for (size_t i = 0; i < units; ++i) {
      const int64_t f = forward.at(i, static_cast<size_t>(k));
      const int64_t b = backward.at(i, static_cast<size_t>(k));
      const int64_t w = split ? weight_gradient.at(i, static_cast<size_t>(k)) : 0;
      Unit& unit = sums[i];
      unit.forward += times * f, unit.backward += times * (b - w);
      unit.weight_gradient += times * w;
      unit.least_forward = std::min(unit.least_forward, f);
      unit.least_backward = std::min(unit.least_backward, b - w);
      through += f + b - w;
      if (i + 1 < units) through += 2 * spec.send_ns[i];
    }
    bound = std::max(bound, through);
  }
  // The way there and back through the first chunks of the stages before.
  int64_t there = 0, back = 0;
  for (size_t s = 0; s < static_cast<size_t>(shape.stages); ++s) {
    int64_t passes = 0, deferred = 0;
    for (size_t c = 0; c < chunks; ++c) {
      const Unit& unit = sums[s * chunks + c];
      passes += unit.forward + unit.backward;
      deferred += unit.weight_gradient;
    }
    bound = std::max({bound, there + passes + back, there + passes + deferred});
    if (s + 1 == static_cast<size_t>(shape.stages)) break;
    there += sums[s * chunks].least_forward + spec.send_ns[s];
    back += sums[s * chunks].least_backward + spec.send_ns[s];
  }
  return bound;
}

}  // namespace evenkeel::planner
