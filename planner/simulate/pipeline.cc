#include "planner/simulate/pipeline.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/simulate/data_parallel.h"
#include "planner/simulate/merged_passes.h"
#include "planner/simulate/pass_walk.h"
#include "planner/simulate/stage_sync.h"

namespace evenkeel::planner {
namespace {

struct PassTimes {
  PassTimes(const PipelineSpec& spec)
      : split(SplitsBackward(spec.shape.schedule)),
        forward(spec.forward_ns, spec.shape),
        backward(spec.backward_ns, spec.shape),
        recompute(spec.recompute_ns, spec.shape),
        weight_gradient(spec.weight_gradient_ns, spec.shape) {}

  int64_t of(const Pass& pass) const {
    if (pass.kind == PassKind::kForward) return forward.at(pass);
    if (pass.kind == PassKind::kWeightGradient) return weight_gradient.at(pass);
    return backward.at(pass) - (split ? weight_gradient.at(pass) : 0);
  }

  bool split;
  PassTable forward, backward, recompute, weight_gradient;
};

struct Event {
  Pass pass;
  int64_t free_ns;      // when the stage became free
  int64_t produced_ns;  // when the pass's input was computed
  int64_t start_ns;
  int64_t end_ns;
  int64_t stall_ns;  // time from start to end spent waiting for parameters
  int64_t sent_ns;   // when the stage is free again
};

// Runs all passes of a rank in a given order and shows each to `observe`.
class Walk {
 public:
  explicit Walk(const PipelineSpec& spec)
      : spec_(spec),
        times_(spec),
        gathers_(GatherSpans(spec)),
        free_(static_cast<size_t>(spec.shape.stages)),
        forward_end_(static_cast<size_t>(spec.shape.virtual_stages() * spec.shape.micro_batches)),
        backward_end_(forward_end_.size()) {
    if (spec.gather_overlaps || gathers_.empty()) return;
    for (size_t i = 0; i < gathers_.size(); ++i) {
      free_[i / static_cast<size_t>(spec.shape.chunks)] = gathers_[i].end_ns;
    }
  }

  const std::vector<Span>& gathers() const { return gathers_; }

  template <typename Observe>
  void Run(const std::vector<Pass>& order, Observe observe) {
    for (const Pass& pass : order) observe(Step(pass));
  }

 private:
  Event Step(const Pass& pass) {
    const size_t m = static_cast<size_t>(spec_.shape.micro_batches);
    const size_t q = static_cast<size_t>(spec_.shape.virtual_stage(pass.stage, pass.chunk));
    const size_t here = q * m + static_cast<size_t>(pass.micro_batch);
    int64_t& free = free_[static_cast<size_t>(pass.stage)];
    Event event = {pass, free, 0, 0, 0, 0, 0};
    int64_t wire = 0, sends = 0;
    const size_t last = static_cast<size_t>(spec_.shape.virtual_stages()) - 1;
    if (pass.kind == PassKind::kForward) {
      if (q > 0) event.produced_ns = forward_end_[here - m], wire = spec_.send_ns[q - 1];
      if (q < last) sends = spec_.send_ns[q];
    } else if (pass.kind == PassKind::kBackward) {
      event.produced_ns = q == last ? forward_end_[here] : backward_end_[here + m];
      if (q < last) wire = spec_.send_ns[q];
      if (q > 0) sends = spec_.send_ns[q - 1];
    }
    event.start_ns = std::max(free, event.produced_ns + wire);
    event.end_ns = event.start_ns + times_.of(pass);
    if (spec_.gather_overlaps && pass.kind == PassKind::kForward && pass.micro_batch == 0) {
      WaitForParameters(&event);
    }
    if (pass.kind == PassKind::kForward) forward_end_[here] = event.end_ns;
    if (pass.kind == PassKind::kBackward) backward_end_[here] = event.end_ns;
    event.sent_ns = free = event.end_ns + (spec_.send_blocks ? sends : 0);
    return event;
  }

  // The forward starts after the first bucket arrives, and computes the last bucket's share after
  // the last one arrives.
  void WaitForParameters(Event* event) const {
    if (gathers_.empty()) return;
    const size_t unit =
        static_cast<size_t>(event->pass.stage * spec_.shape.chunks + event->pass.chunk);
    const Span& span = gathers_[unit];
    if (span.end_ns == span.start_ns) return;
    const int64_t work = event->end_ns - event->start_ns;
    const int64_t first =
        span.start_ns + FirstBucket(span.end_ns - span.start_ns, spec_.buckets_of(unit));
    event->end_ns = std::max(
        {event->end_ns, first + work, span.end_ns + FirstBucket(work, spec_.buckets_of(unit))});
    event->stall_ns = event->end_ns - event->start_ns - work;
    const int64_t slowed =
        SlowedBy(spec_.overlap_slowdown, span.end_ns - span.start_ns - event->stall_ns);
    event->end_ns += slowed, event->stall_ns += slowed;
  }

  const PipelineSpec& spec_;
  PassTimes times_;
  std::vector<Span> gathers_;
  std::vector<int64_t> free_;                        // by stage: when it becomes free
  std::vector<int64_t> forward_end_, backward_end_;  // virtual stage x m + micro-batch
};

// Adds an event's time to the parts of the stage's time.
void Account(const PassTimes& times, const Event& event, StageRun* stage) {
  const int64_t wait = event.start_ns - event.free_ns;
  const int64_t computing = std::clamp<int64_t>(event.produced_ns - event.free_ns, 0, wait);
  stage->wait_p2p_ns += wait - computing;
  stage->gather_ns += event.stall_ns;
  stage->send_ns += event.sent_ns - event.end_ns;
  const int64_t work = event.end_ns - event.start_ns - event.stall_ns;
  switch (event.pass.kind) {
    case PassKind::kForward:
      stage->wait_forward_ns += computing;
      stage->forward_ns += work;
      break;
    case PassKind::kBackward: {
      const int64_t repeated = times.recompute.at(event.pass);
      stage->wait_backward_ns += computing;
      stage->recompute_ns += repeated;
      stage->backward_ns += work - repeated;
      break;
    }
    case PassKind::kWeightGradient:
      stage->weight_gradient_ns += work;
      break;
  }
  stage->end_ns = event.sent_ns;
}

// Simulates up to the last pass. Sets `gradients` to the times when each chunk's gradients are
// available.
PipelineRun RunPasses(const PipelineSpec& spec, const std::vector<Pass>& order, bool keep_passes,
                      std::vector<GradientsReady>* gradients) {
  const size_t chunks = static_cast<size_t>(spec.shape.chunks);
  PipelineRun run;
  run.stages.resize(static_cast<size_t>(spec.shape.stages));
  gradients->assign(run.stages.size() * chunks, {});
  if (keep_passes) run.passes.resize(run.stages.size());
  Walk walk(spec);
  run.gathers = walk.gathers();
  if (!spec.gather_overlaps) {
    for (size_t i = 0; i < run.gathers.size(); ++i) {
      run.stages[i / chunks].gather_ns = run.gathers[i].end_ns;
    }
  }
  const PassTimes times(spec);
  const PassKind last_kind =
      SplitsBackward(spec.shape.schedule) ? PassKind::kWeightGradient : PassKind::kBackward;
  walk.Run(order, [&](const Event& event) {
    const size_t s = static_cast<size_t>(event.pass.stage);
    Account(times, event, &run.stages[s]);
    run.pipeline_ns = std::max(run.pipeline_ns, event.end_ns);
    if (event.pass.kind == last_kind && event.pass.micro_batch + 1 == spec.shape.micro_batches) {
      const size_t unit = s * chunks + static_cast<size_t>(event.pass.chunk);
      (*gradients)[unit] = ReadyAt(spec, unit, event.start_ns, event.end_ns);
    }
    if (keep_passes) run.passes[s].push_back({event.pass, event.start_ns, event.end_ns});
  });
  return run;
}

// Returns when each stage is free after its last backward. 1F1B runs in waves: in wave i, every
// stage s runs the forward of micro-batch i and then the backward of micro-batch i - (P - 1 - s),
// if they exist. A pass waits for one in the same wave on the stage before, or in the previous wave
// on the stage after, so nothing else must be kept.
template <bool kSendBlocks>
std::vector<int64_t> OneFOneBEnds(const PipelineSpec& spec) {
  const size_t stages = static_cast<size_t>(spec.shape.stages);
  const size_t m = static_cast<size_t>(spec.shape.micro_batches);
  const PassTable forward(spec.forward_ns, spec.shape), backward(spec.backward_ns, spec.shape);
  const int64_t* const send = spec.send_ns.data();
  std::vector<int64_t> free(stages), gradient(stages);  // gradient: when it arrives at the stage
  for (size_t wave = 0; wave < m + stages - 1; ++wave) {
    int64_t input = 0;
    for (size_t s = 0; wave < m && s < stages; ++s) {
      const int64_t end = std::max(free[s], input) + forward.at(s, wave);
      input = end + (s + 1 < stages ? send[s] : 0);
      free[s] = kSendBlocks ? input : end;
    }
    const size_t from = wave + 1 < stages ? stages - 1 - wave : 0;
    const size_t end = std::min(stages, m + stages - 1 - wave);
    for (size_t s = from; s < end; ++s) {
      free[s] = std::max(free[s], gradient[s]) + backward.at(s, wave + s + 1 - stages);
      if (s == 0) continue;
      gradient[s - 1] = free[s] + send[s - 1];
      if (kSendBlocks) free[s] = gradient[s - 1];
    }
  }
  return free;
}

std::vector<int64_t> OneFOneBEnds(const PipelineSpec& spec) {
  return spec.send_blocks ? OneFOneBEnds<true>(spec) : OneFOneBEnds<false>(spec);
}

bool IsPlain1F1B(const PipelineSpec& spec) {
  return spec.shape.schedule == Schedule::kOneFOneB && spec.gather_ns.empty();
}

// Returns the passes of a pipeline in which nothing is gathered, run to their end.
PassWalk Walked(const PipelineSpec& spec, const PassList& list, const Stop& stop) {
  const auto alike = [&](const PassValues& values) {
    return PassTable(values, spec.shape).alike();
  };
  PassWalk walk(
      spec, list,
      alike(spec.forward_ns) && alike(spec.backward_ns) && alike(spec.weight_gradient_ns));
  walk.Run(stop);
  return walk;
}

}  // namespace

PipelineRun SimulatePipeline(const PipelineSpec& spec, bool keep_passes) {
  return SimulateRanks({spec}, keep_passes).ranks.front().pipeline;
}

int64_t PipelineEnd(const PipelineSpec& spec) {
  if (IsPlain1F1B(spec)) {
    const std::vector<int64_t> ends = OneFOneBEnds(spec);
    return *std::max_element(ends.begin(), ends.end());
  }
  if (!spec.gather_ns.empty()) {
    int64_t end = 0;
    Walk(spec).Run(WorkOrder(spec.shape),
                   [&](const Event& event) { end = std::max(end, event.end_ns); });
    return end;
  }
  return PipelineEnd(spec, PassList(spec.shape));
}

int64_t PipelineEnd(const PipelineSpec& spec, const PassList& list, const Stop& stop) {
  return Walked(spec, list, stop).pipeline_ns();
}

StepEnds PipelineEnds(const PipelineSpec& spec, const PassList& list, const Stop& stop) {
  std::vector<GradientsReady> gradients;
  std::vector<int64_t> ends;
  if (spec.shape.schedule == Schedule::kOneFOneB) {
    ends = OneFOneBEnds(spec);
    const PassTable backward(spec.backward_ns, spec.shape);
    for (size_t s = 0; s < ends.size(); ++s) {
      const int64_t end = ends[s] - (spec.send_blocks && s > 0 ? spec.send_ns[s - 1] : 0);
      const int64_t last = backward.at(s, static_cast<size_t>(spec.shape.micro_batches) - 1);
      gradients.push_back(ReadyAt(spec, s, end - last, end));
    }
  } else {
    const PassWalk walk = Walked(spec, list, stop);
    for (size_t unit = 0; unit < static_cast<size_t>(spec.shape.virtual_stages()); ++unit) {
      const Span last = walk.Last(unit);
      gradients.push_back(ReadyAt(spec, unit, last.start_ns, last.end_ns));
    }
    ends = walk.free();
  }
  const std::vector<int64_t> synced = SyncedByStage(spec, gradients, ends);
  return {*std::max_element(ends.begin(), ends.end()),
          *std::max_element(synced.begin(), synced.end())};
}

RanksRun SimulateRanks(const std::vector<PipelineSpec>& specs, bool keep_passes) {
  const std::vector<Pass> order = WorkOrder(specs.front().shape);
  RanksRun result;
  std::vector<GradientsReady> gradients, latest;
  for (const PipelineSpec& spec : specs) {
    result.ranks.push_back({RunPasses(spec, order, keep_passes, &gradients)});
    const PipelineRun& run = result.ranks.back().pipeline;
    result.pipeline_ns = std::max(result.pipeline_ns, run.pipeline_ns);
    latest.resize(gradients.size());
    for (size_t i = 0; i < latest.size(); ++i) latest[i].UntilAlso(gradients[i]);
  }
  FinishStep(specs.front(), latest, &result);
  return result;
}

}  // namespace evenkeel::planner
