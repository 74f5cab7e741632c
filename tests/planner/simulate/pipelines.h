// Pipelines to simulate, for tests.
#ifndef EVENKEEL_TESTS_PLANNER_SIMULATE_PIPELINES_H_
#define EVENKEEL_TESTS_PLANNER_SIMULATE_PIPELINES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/base/random.h"
#include "planner/simulate/pipeline.h"

namespace evenkeel::planner {

inline constexpr Schedule kSchedules[] = {Schedule::kOneFOneB, Schedule::kInterleaved,
                                          Schedule::kGPipe, Schedule::kZeroBubble};

inline bool HasChunks(Schedule schedule) {
  return schedule == Schedule::kInterleaved || schedule == Schedule::kGPipe;
}

// Makes equal chunks and micro-batches. For kZeroBubble, `weight_gradient` of the backward is
// deferred.
inline PipelineSpec EqualPipeline(const PipelineShape& shape, int64_t forward, int64_t backward,
                                  int64_t send, int64_t weight_gradient = 0) {
  PipelineSpec spec;
  spec.shape = shape;
  const size_t units = static_cast<size_t>(shape.virtual_stages());
  spec.forward_ns.assign(units, forward);
  spec.backward_ns.assign(units, backward);
  spec.weight_gradient_ns.assign(units, weight_gradient);
  spec.send_ns.assign(units, send);
  return spec;
}

inline int64_t Draw(Random& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random.Below(static_cast<uint64_t>(most - least + 1)));
}

inline std::vector<int64_t> DrawMany(Random& random, int64_t count, int64_t least, int64_t most,
                                     int64_t multiple = 1) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t& value : values) value = Draw(random, least, most) * multiple;
  return values;
}

inline PipelineShape DrawShape(Random& random, Schedule schedule, int64_t most_stages = 6,
                               int64_t most_chunks = 4, int64_t most_micro_batches = 15) {
  PipelineShape shape;
  shape.schedule = schedule;
  shape.stages = Draw(random, 1, most_stages);
  shape.chunks = HasChunks(schedule) ? Draw(random, 1, most_chunks) : 1;
  shape.micro_batches = Draw(random, 1, most_micro_batches);
  return shape;
}

// Times of DrawPipeline are multiples of this number, which every number of buckets divides.
inline constexpr int64_t kDrawnUnit = 12;

// Draws a random pipeline, using every field of a spec.
inline PipelineSpec DrawPipeline(Random& random, const PipelineShape& shape) {
  PipelineSpec spec;
  spec.shape = shape;
  const int64_t units = shape.virtual_stages(), n = kDrawnUnit;
  if (Draw(random, 0, 3) > 0) {
    for (const int64_t buckets : DrawMany(random, units, 1, 4))
      spec.buckets.push_back(static_cast<double>(buckets));
  }
  const auto values = [&](int64_t most) {
    const int64_t rows = Draw(random, 0, 1) == 0 ? 1 : shape.micro_batches;
    return DrawMany(random, units * rows, 0, most, n);
  };
  spec.forward_ns = values(20);
  spec.recompute_ns = values(8);
  spec.weight_gradient_ns = values(15);
  spec.backward_ns.resize(static_cast<size_t>(units * shape.micro_batches));
  for (size_t i = 0; i < spec.backward_ns.size(); ++i) {
    const auto part = [&](const PassValues& part_values) {
      return static_cast<int64_t>(part_values.size()) == units
                 ? part_values[i / static_cast<size_t>(shape.micro_batches)]
                 : part_values[i];
    };
    spec.backward_ns[i] =
        part(spec.recompute_ns) + part(spec.weight_gradient_ns) + Draw(random, 0, 15) * n;
  }
  spec.send_ns = DrawMany(random, units, 0, 6);
  spec.send_blocks = Draw(random, 0, 2) == 0;
  if (Draw(random, 0, 1) == 0) spec.gather_ns = DrawMany(random, units, 0, 30, n);
  if (Draw(random, 0, 3) > 0) spec.sync_ns = DrawMany(random, units, 0, 30, n);
  if (Draw(random, 0, 1) == 0) spec.optimizer_ns = DrawMany(random, shape.stages, 0, 20);
  spec.gather_overlaps = Draw(random, 0, 1) == 0;
  spec.sync_overlaps = Draw(random, 0, 1) == 0;
  return spec;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_PLANNER_SIMULATE_PIPELINES_H_
