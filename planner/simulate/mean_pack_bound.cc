#include "planner/simulate/mean_pack_bound.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

// The times of a stage's passes, all its chunks together.
struct StagePassTimes {
  int64_t forwards = 0, backwards = 0;              // of all micro-batches
  int64_t first_forwards = 0, first_backwards = 0;  // before the first backward, and up to the last
                                                    // forward
  int64_t last_backwards = 0;  // from the last micro-batch's backward on the last chunk on
};

int64_t BackwardOf(const StageWork& work) { return work.backward_ns + work.recompute_ns; }

StagePassTimes TimesOf(const PipelineShape& shape, const std::vector<StageWork>& segments,
                       int64_t stage) {
  const int64_t passes = shape.chunks * shape.micro_batches;
  const int64_t first = MostInFlight(shape, stage).whole;  // forwards before the first backward
  const int64_t rest = shape.micro_batches % shape.group();
  const int64_t last_group = rest == 0 ? shape.group() : rest;
  StagePassTimes times;
  for (int64_t c = 0; c < shape.chunks; ++c) {
    const StageWork& work = segments[static_cast<size_t>(c * shape.stages + stage)];
    const int64_t backward = BackwardOf(work);
    times.forwards += shape.micro_batches * work.forward_ns;
    times.backwards += shape.micro_batches * backward;
    times.first_forwards += ForwardsOf(shape, c, first) * work.forward_ns;
    times.first_backwards += ForwardsOf(shape, shape.chunks - 1 - c, passes - first) * backward;
    times.last_backwards += (c + 1 == shape.chunks ? 1 : last_group) * backward;
  }
  return times;
}

}  // namespace

int64_t MeanPacksAtLeast(const PipelineShape& shape, const std::vector<StageWork>& segments) {
  const size_t stages = static_cast<size_t>(shape.stages), before_last = segments.size() - stages;
  // Of a micro-batch: its way to a stage's first chunk and back from it, its way to the stage's
  // last chunk, and from the end of its forward there to the start of its backward.
  int64_t there = 0, back = 0, way = 0, trip = 0;
  for (size_t q = 0; q < before_last; ++q) way += segments[q].forward_ns + segments[q].send_ns;
  for (size_t q = before_last + 1; q < segments.size(); ++q)
    trip += segments[q].forward_ns + BackwardOf(segments[q]) + 2 * segments[q - 1].send_ns;
  int64_t bound = 0;
  for (size_t s = 0; s < stages; ++s) {
    const StagePassTimes own = TimesOf(shape, segments, static_cast<int64_t>(s));
    const StageWork &first = segments[s], &last = segments[before_last + s];
    const int64_t all = own.forwards + own.backwards;
    if (shape.schedule == Schedule::kZeroBubble) {
      bound = std::max(bound, there + all);
    } else {
      bound =
          std::max({bound, there + all + back,
                    way + last.forward_ns + trip + all - own.first_forwards + back,
                    there + own.forwards + own.first_backwards + trip + own.last_backwards + back});
    }
    there += first.forward_ns + first.send_ns;
    back += BackwardOf(first) + first.send_ns;
    if (s + 1 == stages) break;
    const StageWork& next = segments[before_last + s + 1];
    way += last.forward_ns + last.send_ns;
    trip -= next.forward_ns + BackwardOf(next) + 2 * last.send_ns;
  }
  return bound;
}

int64_t MeanPackStepAtLeast(const Job& job, const PipelineShape& shape,
                            const std::vector<StageWork>& segments, StepCache& cache,
                            int64_t events) {
  // 1F1B is simulated to its end, whatever the number of packs.
  const PipelineShape simulated =
      shape.schedule == Schedule::kOneFOneB ? shape : SimulatedPacks(shape, events);
  const std::vector<int64_t> loads = StageLoads(shape, segments);
  std::vector<TrainedParameters> stages(loads.size());
  for (size_t s = 0; s < segments.size(); ++s) stages[s % stages.size()] += segments[s].trained;
  int64_t optimizer = 0;
  for (const TrainedParameters& stage : stages)
    optimizer = std::max(optimizer, cache.Sync(stage).optimizer_ns);
  const StageWork& first = segments.front();
  return MeanPacksAtLeast(simulated, segments) +
         (shape.micro_batches - simulated.micro_batches) *
             *std::max_element(loads.begin(), loads.end()) +
         optimizer +
         ExposedGather(job.training.execution, cache.Sync(first.trained), first.forward_ns);
}

}  // namespace evenkeel::planner
