#include "planner/simulate/mean_pack_bound.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/simulate/data_parallel.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kNotKnown = -1;

int64_t BackwardOf(const SegmentWork& work) { return work.backward_ns + work.recompute_ns; }

int64_t LastGroup(const PipelineShape& shape) {
  const int64_t group = std::min(shape.group(), shape.micro_batches);
  const int64_t rest = shape.micro_batches % group;
  return rest == 0 ? group : rest;
}

}  // namespace

MeanPackBound::MeanPackBound(const PipelineShape& shape)
    : shape_(shape),
      stages_(static_cast<size_t>(shape.stages)),
      chunks_(static_cast<size_t>(shape.chunks)),
      segments_(stages_ * chunks_),
      last_row_(segments_ - stages_),
      first_group_(std::min(shape.group(), shape.micro_batches)),
      last_group_(LastGroup(shape)),
      counts_(segments_),
      left_(stages_),
      forward_(segments_),
      first_backward_(stages_),
      last_forward_(stages_),
      before_backward_(stages_),
      all_forwards_(stages_),
      last_(segments_),
      ends_(stages_) {
  const int64_t passes = shape.chunks * shape.micro_batches;
  for (size_t segment = 0; segment < segments_; ++segment) {
    const int64_t stage = static_cast<int64_t>(segment % stages_);
    const int64_t chunk = static_cast<int64_t>(segment / stages_);
    const int64_t first = MostInFlight(shape, stage).whole;  // forwards before the first backward
    counts_[segment] = {ForwardsOf(shape, chunk, first),
                        ForwardsOf(shape, chunk, first) -
                            ForwardsOf(shape, chunk, (shape.chunks - 1) * first_group_),
                        ForwardsOf(shape, shape.chunks - 1 - chunk, passes - first)};
    left_[segment % stages_] = std::max<int64_t>(0, shape.chunks * last_group_ - first);
  }
}

const std::vector<int64_t>& MeanPackBound::Ends(const std::vector<SegmentWork>& segments) {
  if (SplitsBackward(shape_.schedule)) {
    ZeroBubbleEnds(segments);
    return ends_;
  }
  FirstForwards(segments);
  FirstBackwards(segments);
  LastForwards(segments);
  LastBackwards(segments);
  return ends_;
}

// The order of its weight gradients varies, so only the path to a stage and the stage's work count.
void MeanPackBound::ZeroBubbleEnds(const std::vector<SegmentWork>& segments) {
  int64_t there = 0;
  for (size_t s = 0; s < stages_; ++s) {
    const SegmentWork& work = segments[s];
    ends_[s] = there + shape_.micro_batches * (work.forward_ns + BackwardOf(work));
    last_[s] = {ends_[s] - work.weight_gradient_ns, ends_[s]};
    there += work.forward_ns + work.send_ns;
  }
}

// The first micro-batch waits for the segment before and, with chunks, for the first group on the
// stage's chunk before. The last one of that group waits for it, and for the segment before.
void MeanPackBound::FirstForwards(const std::vector<SegmentWork>& segments) {
  std::vector<int64_t>& group_end = last_forward_;  // starts of the group's last, by stage
  for (size_t q = 0; q < segments_; ++q) {
    const size_t s = q % stages_;
    int64_t first = 0, last = 0;
    if (q > 0) {
      const int64_t way = segments[q - 1].forward_ns + segments[q - 1].send_ns;
      first = forward_[q - 1] + way;
      last = group_end[(q - 1) % stages_] + way;
    }
    if (q >= stages_) first = std::max(first, group_end[s] + segments[q - stages_].forward_ns);
    forward_[q] = first;
    group_end[s] = std::max(last, first + (first_group_ - 1) * segments[q].forward_ns);
  }
}

// A stage's first backward waits for the forwards that its order puts before it, and for the stage
// after it.
void MeanPackBound::FirstBackwards(const std::vector<SegmentWork>& segments) {
  for (size_t s = stages_; s-- > 0;) {
    int64_t all = 0, before = 0, from_last_row = 0;
    for (size_t q = s; q < segments_; q += stages_) {
      const int64_t forward = segments[q].forward_ns;
      all += shape_.micro_batches * forward;
      before += counts_[q].first_forwards * forward;
      from_last_row += counts_[q].last_row_forwards * forward;
    }
    all_forwards_[s] = all, before_backward_[s] = before;
    int64_t start = std::max(forward_[s] + before, forward_[last_row_ + s] + from_last_row);
    if (s + 1 < stages_)
      start = std::max(start, first_backward_[s + 1] + BackwardOf(segments[last_row_ + s + 1]) +
                                  segments[last_row_ + s].send_ns);
    first_backward_[s] = start;
  }
}

// The last micro-batch's forward on the last chunk waits for the stage's other forwards, and the
// backwards that its order puts before it.
void MeanPackBound::LastForwards(const std::vector<SegmentWork>& segments) {
  const bool one_group = shape_.micro_batches == first_group_;
  for (size_t s = 0; s < stages_; ++s) {
    const int64_t forward = segments[last_row_ + s].forward_ns;
    int64_t backwards = 0;
    for (size_t q = s; q < segments_; q += stages_)
      backwards += counts_[q].first_backwards * BackwardOf(segments[q]);
    int64_t start = forward_[s] + all_forwards_[s] - forward + backwards;
    if (backwards > 0)
      start = std::max(
          start, first_backward_[s] - before_backward_[s] + all_forwards_[s] - forward + backwards);
    if (one_group) start = std::max(start, last_forward_[s]);
    if (s > 0) {
      const SegmentWork& before = segments[last_row_ + s - 1];
      start = std::max(start, last_forward_[s - 1] + before.forward_ns + before.send_ns);
    }
    last_forward_[s] = start;
  }
}

// Does for the end of the step what FirstForwards does for its start: bounds the last backwards of
// the last group's first and last micro-batch.
void MeanPackBound::LastBackwards(const std::vector<SegmentWork>& segments) {
  std::vector<int64_t>&first_of = forward_, &last_of = last_forward_;  // by stage, of the row above
  int64_t behind_first = 0, behind_last = last_forward_.back() + segments.back().forward_ns;
  const int64_t groups_before = shape_.micro_batches - last_group_;
  for (size_t q = segments_; q-- > 0;) {
    const size_t s = q % stages_;
    const int64_t backward = BackwardOf(segments[q]);
    int64_t first = behind_first, last = behind_last;
    if (q >= last_row_) {
      int64_t before = 0;  // backwards of the groups before
      for (size_t of = s; of < segments_; of += stages_)
        before += groups_before * BackwardOf(segments[of]);
      const int64_t own = first_backward_[s] - before_backward_[s] + all_forwards_[s] + before;
      const int64_t forward = segments[q].forward_ns;
      first = std::max(first, own - left_[s] * forward);
      last = std::max(last, own - std::max<int64_t>(0, left_[s] - last_group_ + 1) * forward +
                                (last_group_ - 1) * backward);
    } else {
      first = std::max(first, last_of[s] + BackwardOf(segments[q + stages_]));
    }
    last = std::max(last, first + (last_group_ - 1) * backward);
    first_of[s] = first, last_of[s] = last;
    last_[UnitOf(shape_, q)] = {last, last + backward};
    if (q < stages_) ends_[q] = last + backward;
    if (q == 0) break;
    behind_first = first + backward + segments[q - 1].send_ns;
    behind_last = last + backward + segments[q - 1].send_ns;
  }
}

int64_t MeanPacksAtLeast(const PipelineShape& shape, const std::vector<SegmentWork>& segments) {
  MeanPackBound bound(shape);
  const std::vector<int64_t>& ends = bound.Ends(segments);
  return *std::max_element(ends.begin(), ends.end());
}

MeanPackStepBound::MeanPackStepBound(const Job& job, const PipelineShape& shape, int64_t events)
    : job_(job),
      shape_(shape),
      // 1F1B is simulated to its end for any number of packs.
      simulated_(shape.schedule == Schedule::kOneFOneB ? shape : SimulatedPacks(shape, events)),
      bound_(simulated_) {
  const size_t segments = static_cast<size_t>(shape.virtual_stages());
  trained_.resize(segments);
  of_stages_.resize(static_cast<size_t>(shape.stages));
  spec_.shape = simulated_;
  spec_.sync_ns.resize(segments);
  spec_.buckets.assign(segments, 1);
  spec_.optimizer_ns.resize(of_stages_.size());
  spec_.sync_overlaps = job.training.execution.overlap_gradient_reduce;
}

// Most cuts differ from the one before in a few segments.
void MeanPackStepBound::SetExchange(const std::vector<SegmentWork>& segments, StepCache& cache) {
  // If gradients are later, the slowdown of what overlaps may shrink by this share of the delay for
  // each chunk. Up to this share, the sum does not shrink.
  const double most = 1 / D(shape_.chunks);
  for (size_t s = 0; s < segments.size(); ++s) {
    const TrainedParameters& trained = segments[s].trained;
    if (trained == trained_[s]) continue;
    const StageSync& sync = cache.Sync(trained);
    const size_t unit = UnitOf(shape_, s);
    spec_.sync_ns[unit] = sync.reduce_ns;
    spec_.buckets[unit] = sync.buckets;
    spec_.overlap_slowdown = std::min(most, std::max(spec_.overlap_slowdown, sync.slowdown));
    const size_t stage = s % of_stages_.size();
    of_stages_[stage] += trained - trained_[s];
    spec_.optimizer_ns[stage] = kNotKnown;
    trained_[s] = trained;
  }
  for (size_t stage = 0; stage < of_stages_.size(); ++stage) {
    int64_t& optimizer_ns = spec_.optimizer_ns[stage];
    if (optimizer_ns == kNotKnown) optimizer_ns = cache.Sync(of_stages_[stage]).optimizer_ns;
  }
}

int64_t MeanPackStepBound::AtLeast(const std::vector<SegmentWork>& segments, StepCache& cache) {
  SetExchange(segments, cache);
  const std::vector<int64_t>& ends = bound_.Ends(segments);
  std::vector<GradientsReady> gradients;
  for (size_t unit = 0; unit < segments.size(); ++unit) {
    const Span& last = bound_.LastPasses()[unit];
    gradients.push_back(ReadyAt(spec_, unit, last.start_ns, last.end_ns));
  }
  const std::vector<int64_t> synced = SyncedByStage(spec_, gradients, ends);
  const std::vector<int64_t> loads = StageLoads(shape_, segments);
  const SegmentWork& first = segments.front();
  return *std::max_element(synced.begin(), synced.end()) - shape_.chunks +  // what was rounded
         (shape_.micro_batches - simulated_.micro_batches) *
             *std::max_element(loads.begin(), loads.end()) +
         *std::max_element(spec_.optimizer_ns.begin(), spec_.optimizer_ns.end()) +
         ExposedGather(job_.training.execution, cache.Sync(first.trained), first.forward_ns);
}

}  // namespace evenkeel::planner
