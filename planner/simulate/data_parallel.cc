#include "planner/simulate/data_parallel.h"

#include "planner/base/integers.h"
#include "planner/simulate/stage_sync.h"

namespace evenkeel::planner {
namespace {

// Returns when each chunk's gradients move. `ends` are the ends of the stages' last passes on the
// slowest rank.
std::vector<Span> SyncSpans(const PipelineSpec& spec, const std::vector<GradientsReady>& gradients,
                            const std::vector<int64_t>& ends) {
  std::vector<Span> spans(spec.sync_ns.size());
  const size_t chunks = static_cast<size_t>(spec.shape.chunks);
  for (size_t s = 0; s < ends.size() && !spans.empty(); ++s) {
    int64_t stream = spec.sync_overlaps ? 0 : ends[s];
    // The last chunk's backward is the first to end.
    for (size_t c = chunks; c-- > 0;) {
      const size_t i = s * chunks + c;
      const int64_t time = spec.sync_ns[i];
      if (time == 0) {
        spans[i] = {stream, stream};
        continue;
      }
      spans[i].start_ns = stream;
      spans[i].end_ns = stream + time;
      if (spec.sync_overlaps) {
        // Buckets become ready evenly, so either the first or the last one determines the wait.
        spans[i].start_ns = std::max(stream, gradients[i].first_bucket_ns);
        spans[i].end_ns = std::max(spans[i].start_ns + time,
                                   gradients[i].all_ns + FirstBucket(time, spec.buckets_of(i)));
      }
      stream = spans[i].end_ns;
    }
  }
  return spans;
}

std::vector<int64_t> SyncedAfter(const PipelineSpec& spec, const std::vector<Span>& syncs,
                                 const std::vector<int64_t>& ends) {
  std::vector<int64_t> synced = ends;
  const size_t chunks = static_cast<size_t>(spec.shape.chunks);
  for (size_t i = 0; i < syncs.size(); ++i) {
    if (spec.sync_ns[i] > 0) synced[i / chunks] = std::max(synced[i / chunks], syncs[i].end_ns);
  }
  for (size_t i = 0; i < syncs.size() && spec.sync_overlaps; ++i) {
    const int64_t left = std::max<int64_t>(0, syncs[i].end_ns - ends[i / chunks]);
    synced[i / chunks] += SlowedBy(spec.overlap_slowdown, spec.sync_ns[i] - left);
  }
  return synced;
}

}  // namespace

GradientsReady ReadyAt(const PipelineSpec& spec, size_t unit, int64_t start_ns, int64_t end_ns) {
  return {start_ns + FirstBucket(end_ns - start_ns, spec.buckets_of(unit)), end_ns};
}

std::vector<int64_t> SyncedByStage(const PipelineSpec& spec,
                                   const std::vector<GradientsReady>& gradients,
                                   const std::vector<int64_t>& ends) {
  return SyncedAfter(spec, SyncSpans(spec, gradients, ends), ends);
}

std::vector<Span> GatherSpans(const PipelineSpec& spec) {
  std::vector<Span> spans(spec.gather_ns.size());
  const size_t chunks = static_cast<size_t>(spec.shape.chunks);
  for (size_t i = 0; i < spans.size(); ++i) {
    spans[i].start_ns = i % chunks == 0 ? 0 : spans[i - 1].end_ns;
    spans[i].end_ns = spans[i].start_ns + spec.gather_ns[i];
  }
  return spans;
}

void FinishStep(const PipelineSpec& spec, const std::vector<GradientsReady>& gradients,
                RanksRun* run) {
  const size_t stages = static_cast<size_t>(spec.shape.stages);
  std::vector<int64_t> ends(stages);
  for (const RankRun& rank : run->ranks) {
    for (size_t s = 0; s < stages; ++s) {
      ends[s] = std::max(ends[s], rank.pipeline.stages[s].end_ns);
    }
  }
  const std::vector<Span> syncs = SyncSpans(spec, gradients, ends);
  const std::vector<int64_t> synced = SyncedAfter(spec, syncs, ends);
  const int64_t all_synced = *std::max_element(synced.begin(), synced.end());
  int64_t optimizer = 0;
  for (const int64_t time : spec.optimizer_ns) optimizer = std::max(optimizer, time);
  run->step_ns = all_synced + optimizer;
  for (RankRun& rank : run->ranks) {
    int64_t idle = 0;
    for (size_t s = 0; s < stages; ++s) {
      StageRun& stage = rank.pipeline.stages[s];
      idle += ends[s] - stage.end_ns;
      stage.sync_end_ns = synced[s];
      stage.sync_ns = synced[s] - stage.end_ns;
      stage.wait_sync_ns = all_synced - synced[s];
      stage.optimizer_ns = spec.optimizer_ns.empty() ? 0 : spec.optimizer_ns[s];
      stage.wait_optimizer_ns = optimizer - stage.optimizer_ns;
    }
    rank.idle_ns = idle / static_cast<int64_t>(stages);
    rank.pipeline.syncs = syncs;
    rank.pipeline.synced_ns = all_synced;
    rank.pipeline.step_ns = run->step_ns;
  }
}

}  // namespace evenkeel::planner
