#include "planner/simulate/step_simulation.h"

#include <algorithm>
#include <optional>

#include "planner/base/integers.h"

namespace evenkeel::planner {

PerEncoder<double> DummyUnits(const ModelSpec& model) {
  PerEncoder<double> one_each;
  for (size_t e = 0; e < model.towers.size(); ++e) one_each[e] = 1;
  return one_each;
}

namespace {

// Returns the work of layers [begin, end) without their sends.
SegmentWork ComputeOf(const LayerProfile& profile, int64_t begin, int64_t end,
                      const ModeCounts& recomputed) {
  SegmentWork work;
  work.recomputed = recomputed;
  work.recompute_ns = RepeatedTime(profile, recomputed);
  for (int64_t i = begin; i < end; ++i)
    ++work.counts[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    const LayerCost& layer = profile.classes[k];
    const int64_t count = work.counts[k];
    work.forward_ns += count * layer.forward_ns;
    work.backward_ns += count * layer.backward_ns;
    PackCost forward = layer.forward, backward = layer.backward;
    forward += layer.forward_communication;
    backward += layer.backward_communication;
    work.forward += static_cast<double>(count) * forward;
    if (layer.has_backward) work.backward += static_cast<double>(count) * backward;
    work.weight_gradient_ns += count * layer.weight_gradient_ns;
    work.weight_gradient += static_cast<double>(count) * layer.weight_gradient;
    for (size_t q = 1; q < layer.modes.size(); ++q) {
      const RecomputeMode& mode = layer.modes[q];
      const double repeated = static_cast<double>(recomputed[k][q]);
      work.backward += repeated * mode.repeated;
      work.backward += repeated * mode.repeated_communication;
    }
    work.parameters += count * layer.parameters;
    work.trained += count * TrainedBy(layer);
  }
  return work;
}

constexpr int64_t kUnitsPerTimedPass = 20;  // units of Stop::Spend

// Returns the most packs of one rank that are simulated one by one.
int64_t PacksAtMost(const PipelineShape& shape, int64_t events) {
  return std::max<int64_t>(2, events / shape.virtual_stages());
}

// Returns the pipeline of these segments, with `packs` values for each pass.
PipelineSpec PipelineOf(const PipelineShape& shape, const std::vector<SegmentWork>& segments,
                        size_t packs) {
  PipelineSpec spec;
  spec.shape = shape;
  for (const SegmentWork& s : segments) spec.send_ns.push_back(s.send_ns);
  for (PassValues* values : {&spec.forward_ns, &spec.backward_ns, &spec.weight_gradient_ns})
    values->resize(segments.size() * packs);
  return spec;
}

// The steps that represent all: `steps` steps, each of `ranks` data-parallel ranks that run
// `shape`.
struct SampledSteps {
  PipelineShape shape;
  int64_t steps = 1, ranks = 1;
  int64_t locked = 1;              // consecutive ranks that take as long as the slowest of them
  PerEncoder<double> dummy_units;  // of each encoder, that a pack without units costs
};

// Returns the packs that a beginning of the step has all or none of.
int64_t PacksTogether(const PipelineShape& shape) {
  return shape.chunks > 1 ? std::min(shape.group(), shape.micro_batches) : 1;
}

// Returns how many packs of a step are simulated. Fewer than all come in whole groups: passes of a
// broken group would wait for packs that are missing.
int64_t SampledPacks(const PipelineShape& shape, int64_t most_events) {
  const int64_t most = PacksAtMost(shape, most_events);
  if (shape.micro_batches <= most) return shape.micro_batches;
  const int64_t group = PacksTogether(shape);
  return std::max(group, most / group * group);
}

SampledSteps SampleOf(const Job& job, const Parallelism& p, const PipelineShape& shape,
                      int64_t most_events) {
  SampledSteps sample;
  sample.shape = shape.WithFewer(SampledPacks(shape, most_events));
  const int64_t events = sample.shape.micro_batches * p.data * shape.virtual_stages();
  sample.steps = std::clamp<int64_t>(most_events / events, 1, kStepsAtMost);
  // If a single step exceeds the budget, fewer ranks represent all; the time of the slowest of many
  // ranks is then underestimated.
  sample.ranks = std::clamp<int64_t>(most_events * p.data / events, 1, p.data);
  sample.locked = LockedRanks(job, p);
  sample.dummy_units = DummyUnits(job.model);
  return sample;
}

// Returns the mean over the steps of the slowest rank's time. `time_of` takes the packs of one
// rank; ranks that are locked together count as one.
template <typename TimeOf>
int64_t MeanOfSlowest(const SampledSteps& sample, const std::vector<PackShape>& packs,
                      TimeOf time_of) {
  const size_t m = static_cast<size_t>(sample.shape.micro_batches);
  // If packs are equal, one rank of one step tells all.
  const bool equal = std::equal(packs.begin() + 1, packs.end(), packs.begin());
  const int64_t steps = equal ? 1 : sample.steps, ranks = equal ? 1 : sample.ranks;
  std::vector<PackShape> own(m);
  size_t next = 0;
  int64_t sum = 0;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t slowest = 0;
    for (int64_t r = 0; r < ranks; r += sample.locked) {
      const size_t together = static_cast<size_t>(std::min(sample.locked, ranks - r));
      for (size_t k = 0; k < m; ++k) {
        PackShape pack;
        for (size_t rank = 0; rank < together; ++rank) {
          const PackShape& one = packs[(next + rank * m + k) % packs.size()];
          pack = Max(pack, one);
        }
        pack.units = Max(pack.units, sample.dummy_units);
        own[k] = pack;
      }
      next += together * m;
      slowest = std::max(slowest, time_of(own));
    }
    sum += slowest;
  }
  return sum / steps;
}

// Runs the packs of ranks, one rank after the other, through the same pipeline.
class RankPipeline {
 public:
  RankPipeline(const PipelineShape& shape, const std::vector<SegmentWork>& segments,
               StepCache& cache, const Stop& stop)
      : segments_(segments),
        stop_(stop),
        spec_(PipelineOf(shape, segments, static_cast<size_t>(shape.micro_batches))) {
    if (shape.schedule != Schedule::kOneFOneB)
      walk_.emplace(spec_, cache.Passes(shape, stop), /*alike=*/false);
    for (size_t s = 0; s < segments.size(); ++s) {
      const auto same = [&](const SegmentWork& other) {
        return other.forward == segments[s].forward && other.backward == segments[s].backward &&
               other.weight_gradient == segments[s].weight_gradient;
      };
      like_.push_back(static_cast<size_t>(std::find_if(segments.begin(), segments.end(), same) -
                                          segments.begin()));
    }
  }

  int64_t operator()(const std::vector<PackShape>& packs) {
    stop_.Spend(kUnitsPerTimedPass * spec_.shape.virtual_stages() * spec_.shape.micro_batches);
    for (size_t s = 0; s < segments_.size(); ++s) SetTimes(s, packs);
    if (!walk_) return PipelineEnd(spec_);
    walk_->Run();
    return walk_->pipeline_ns();
  }

 private:
  // Sets the times of a segment, or copies those of one that costs the same.
  void SetTimes(size_t segment, const std::vector<PackShape>& packs) {
    const SegmentWork& work = segments_[segment];
    const auto set = [&](PassKind kind, const PackCost& cost) {
      int64_t* const times = Times(kind, segment);
      if (like_[segment] < segment) {
        std::copy_n(Times(kind, like_[segment]), packs.size(), times);
        return;
      }
      const size_t encoders = cost.encoders();
      for (size_t k = 0; k < packs.size(); ++k) times[k] = Nearest(cost.at(packs[k], encoders));
    };
    set(PassKind::kForward, work.forward);
    set(PassKind::kBackward, work.backward);
    if (!SplitsBackward(spec_.shape.schedule)) return;
    set(PassKind::kWeightGradient, work.weight_gradient);
    if (like_[segment] < segment) return;  // its backward is without the weight gradient already
    int64_t* const backward = Times(PassKind::kBackward, segment);
    const int64_t* const apart = Times(PassKind::kWeightGradient, segment);
    for (size_t k = 0; k < packs.size(); ++k) backward[k] -= apart[k];
  }

  int64_t* Times(PassKind kind, size_t segment) {
    const size_t unit = UnitOf(spec_.shape, segment);
    if (walk_) return walk_->Times(kind, unit);
    PassValues& values = kind == PassKind::kForward ? spec_.forward_ns : spec_.backward_ns;
    return &values[unit * static_cast<size_t>(spec_.shape.micro_batches)];
  }

  const std::vector<SegmentWork>& segments_;
  const Stop stop_;
  PipelineSpec spec_;
  std::vector<size_t> like_;      // by segment: the first that costs the same
  std::optional<PassWalk> walk_;  // of schedules other than 1F1B
};

// Assigns the exchange of each segment to the pipeline's units; each stage has one optimizer.
void AddSync(const Job& job, const std::vector<SegmentWork>& segments, StepCache& cache,
             PipelineSpec& spec) {
  spec.sync_ns.resize(segments.size());
  spec.buckets.resize(segments.size());
  spec.optimizer_ns.resize(static_cast<size_t>(spec.shape.stages));
  spec.sync_overlaps = job.training.execution.overlap_gradient_reduce;
  std::vector<TrainedParameters> stages(spec.optimizer_ns.size());
  for (size_t s = 0; s < segments.size(); ++s) {
    const StageSync& sync = cache.Sync(segments[s].trained);
    const size_t at = UnitOf(spec.shape, s);
    spec.sync_ns[at] = sync.reduce_ns;
    spec.buckets[at] = sync.buckets;
    spec.overlap_slowdown = std::max(spec.overlap_slowdown, sync.slowdown);
    stages[s % stages.size()] += segments[s].trained;
  }
  for (size_t s = 0; s < stages.size(); ++s)
    spec.optimizer_ns[s] = cache.Sync(stages[s]).optimizer_ns;
}

// The beginning of a step, from which the whole step is extrapolated: two halves, each of whole
// groups of packs, and the `rest` of the last group.
struct Beginning {
  Beginning(const PipelineShape& shape, int64_t events) {
    const int64_t group = PacksTogether(shape);
    const int64_t most = PacksAtMost(shape, events);
    half = std::max(group, most / 2 / group * group);
    rest = shape.micro_batches % group;
    more = shape.micro_batches - rest - 2 * half;
    whole = shape.micro_batches <= most || more <= 0;
  }
  bool whole = false;  // all packs are simulated
  int64_t half = 0, rest = 0, more = 0;
};

// Extrapolates a step. The packs after the first ones repeat their rhythm, and take no less time
// than the slowest stage works. `simulate` takes a shape. Returns the end of the whole pipeline;
// its other results are those with fewer packs.
template <typename Simulate>
StepEnds InRhythm(const PipelineShape& shape, const std::vector<SegmentWork>& segments,
                  int64_t events, Simulate simulate) {
  const Beginning begin(shape, events);
  if (begin.whole) return simulate(shape);
  const int64_t half = begin.half;
  const std::vector<int64_t> stages = StageLoads(shape, segments);
  const int64_t slowest = *std::max_element(stages.begin(), stages.end());
  StepEnds whole = simulate(shape.WithFewer(half * 2 + begin.rest));
  const int64_t shorter = simulate(shape.WithFewer(half + begin.rest)).pipeline_ns;
  const int64_t rhythm = std::max(whole.pipeline_ns - shorter, half * slowest);
  const int64_t later = begin.more / half * rhythm +
                        static_cast<int64_t>((Wide{begin.more % half} * rhythm + half - 1) / half);
  return {whole.pipeline_ns + later, whole.synced_ns + later};
}

StepEnds EndsOf(const std::vector<StageTimes>& stages, int64_t micro_batches, const Stop& stop) {
  EqualPacks simulation(stop);
  const std::vector<int64_t>& ends = simulation.Run(stages, micro_batches);
  StepEnds last{};
  for (size_t s = 0; s < stages.size(); ++s) {
    last.pipeline_ns = std::max(last.pipeline_ns, ends[s]);
    last.synced_ns = std::max(last.synced_ns, ends[s] + stages[s].after_own);
  }
  return last;
}

// Returns whether there are too many packs to simulate one by one, under the schedule that
// EqualPacks runs.
bool RunsEqualPacks(const PipelineShape& shape, int64_t events) {
  return shape.schedule == Schedule::kOneFOneB && !Beginning(shape, events).whole;
}

}  // namespace

StageTimes TimesOf(const Execution& execution, const StageSync& sync, const PackTime& time) {
  const int64_t backward = time.backward_ns + time.recompute_ns;
  return {.forward = time.forward_ns,
          .backward = backward,
          .send = time.send_ns,
          .after_own = ExposedReduce(execution, sync, backward),
          .after_all = {sync.optimizer_ns, ExposedGather(execution, sync, time.forward_ns)}};
}

StageTimes TimesOf(const Job& job, const Parallelism& p, const SegmentWork& work) {
  return TimesOf(job.training.execution, SyncOf(job, p, work.trained), TimeOf(work));
}

std::vector<StageTimes> TimesOfStages(const Job& job, const Parallelism& p,
                                      const std::vector<SegmentWork>& stages) {
  std::vector<StageTimes> times;
  for (const SegmentWork& work : stages) {
    times.push_back(TimesOf(job, p, work));
    if (times.size() > 1) times.back().after_all[1] = 0;
  }
  return times;
}

const PassList& StepCache::Passes(const PipelineShape& shape, const Stop& stop) {
  const auto [at, added] = lists_.try_emplace(shape.micro_batches);
  if (added && shape.schedule == Schedule::kOneFOneB)
    at->second = std::make_shared<const PassList>();
  else if (added)
    at->second = shared_ != nullptr ? shared_->Of(shape, stop)
                                    : std::make_shared<const PassList>(shape, stop);
  return *at->second;
}

const StageSync& StepCache::Sync(const TrainedParameters& trained) {
  const auto [at, added] = syncs_.try_emplace(trained);
  if (added) at->second = SyncOf(job_, network_, p_, trained);
  return at->second;
}

PipelineShape SimulatedPacks(const PipelineShape& shape, int64_t events) {
  const Beginning begin(shape, events);
  return begin.whole ? shape : shape.WithFewer(2 * begin.half + begin.rest);
}

int64_t MeanPackPasses(const PipelineShape& shape, int64_t events) {
  const Beginning begin(shape, events);
  const int64_t packs = begin.whole ? shape.micro_batches : 3 * begin.half + 2 * begin.rest;
  return 2 * packs * shape.virtual_stages();
}

SegmentWork WorkOfSegment(const Network& network, const LayerProfile& profile, const Parallelism& p,
                          const std::vector<int64_t>& boundaries, size_t segment,
                          const ModeCounts& recomputed) {
  SegmentWork work = ComputeOf(profile, boundaries[segment], boundaries[segment + 1], recomputed);
  if (segment + 2 < boundaries.size()) {
    const int64_t stage = static_cast<int64_t>(segment) % p.pipeline;
    work.send_bytes = profile.at(boundaries[segment + 1] - 1).mean_output_bytes;
    work.send_ns = network.StageSend(p, stage, work.send_bytes);
  }
  return work;
}

std::vector<SegmentWork> WorkOfSegments(const Job& job, const LayerProfile& profile,
                                        const Parallelism& p,
                                        const std::vector<int64_t>& boundaries,
                                        const std::vector<ModeCounts>& recomputed) {
  const Network network(job.cluster, job.constants);
  std::vector<SegmentWork> stages;
  stages.reserve(boundaries.size() - 1);
  for (size_t s = 0; s + 1 < boundaries.size(); ++s)
    stages.push_back(WorkOfSegment(network, profile, p, boundaries, s, recomputed[s]));
  return stages;
}

std::vector<int64_t> StageLoads(const PipelineShape& shape,
                                const std::vector<SegmentWork>& segments) {
  std::vector<int64_t> stages(static_cast<size_t>(shape.stages));
  for (size_t s = 0; s < segments.size(); ++s) {
    const SegmentWork& work = segments[s];
    stages[s % stages.size()] += work.forward_ns + work.backward_ns + work.recompute_ns;
  }
  return stages;
}

PipelineShape ShapeOf(const Parallelism& p, Schedule schedule, int64_t micro_batches) {
  return {.schedule = schedule,
          .stages = p.pipeline,
          .chunks = p.virtual_stages,
          .micro_batches = micro_batches};
}

PipelineSpec MeanPackPipeline(const PipelineShape& shape,
                              const std::vector<SegmentWork>& segments) {
  PipelineSpec spec = PipelineOf(shape, segments, 1);
  for (size_t s = 0; s < segments.size(); ++s) {
    const size_t at = UnitOf(shape, s);
    spec.forward_ns[at] = segments[s].forward_ns;
    spec.backward_ns[at] = segments[s].backward_ns + segments[s].recompute_ns;
    spec.weight_gradient_ns[at] = segments[s].weight_gradient_ns;
  }
  return spec;
}

int64_t SimulateMeanPacks(const PipelineShape& shape, const std::vector<SegmentWork>& segments,
                          StepCache* cache) {
  if (RunsEqualPacks(shape, kEventsAtMost)) {
    std::vector<StageTimes> times;
    for (const SegmentWork& work : segments) {
      times.push_back({.forward = work.forward_ns,
                       .backward = work.backward_ns + work.recompute_ns,
                       .send = work.send_ns});
    }
    return EndsOf(times, shape.micro_batches, {}).pipeline_ns;
  }
  PipelineSpec spec = MeanPackPipeline(shape, segments);
  return InRhythm(shape, segments, kEventsAtMost,
                  [&](const PipelineShape& like) {
                    spec.shape = like;
                    const bool listed = cache != nullptr && like.schedule != Schedule::kOneFOneB;
                    return StepEnds{
                        listed ? PipelineEnd(spec, cache->Passes(like, {})) : PipelineEnd(spec), 0};
                  })
      .pipeline_ns;
}

SimulatedStep MeanPackStep(const Job& job, const Parallelism& p, const PipelineShape& shape,
                           const std::vector<SegmentWork>& segments, StepCache* cache,
                           int64_t events, const Stop& stop) {
  PipelineSpec spec = MeanPackPipeline(shape, segments);
  StepCache own(job, p);
  StepCache& known = cache == nullptr ? own : *cache;
  AddSync(job, segments, known, spec);
  const auto exact = [&] {
    std::vector<StageTimes> times;
    for (const SegmentWork& work : segments)
      times.push_back(TimesOf(job.training.execution, known.Sync(work.trained), TimeOf(work)));
    return EndsOf(times, shape.micro_batches, stop);
  };
  const auto simulate = [&](const PipelineShape& like) {
    if (like.schedule == Schedule::kOneFOneB)
      stop.Spend(kUnitsPerTimedPass * like.virtual_stages() * like.micro_batches);
    spec.shape = like;
    return PipelineEnds(spec, known.Passes(like, stop), stop);
  };
  const StepEnds ends =
      RunsEqualPacks(shape, events) ? exact() : InRhythm(shape, segments, events, simulate);
  const SegmentWork& first = segments.front();
  return {.pipeline_ns = ends.pipeline_ns,
          .data_sync_ns =
              ends.synced_ns - ends.pipeline_ns +
              ExposedGather(job.training.execution, known.Sync(first.trained), first.forward_ns),
          .optimizer_ns = *std::max_element(spec.optimizer_ns.begin(), spec.optimizer_ns.end())};
}

PipelineSpec MeanPackStepPipeline(const Job& job, const Parallelism& p, const PipelineShape& shape,
                                  const std::vector<SegmentWork>& segments) {
  PipelineSpec spec = MeanPackPipeline(shape, segments);
  StepCache cache(job, p);
  AddSync(job, segments, cache, spec);
  spec.gather_ns.resize(segments.size());
  spec.gather_ns.front() = cache.Sync(segments.front().trained).gather_ns;
  spec.gather_overlaps = job.training.execution.overlap_weight_gather;
  return spec;
}

int64_t SimulateMeanPacks(const std::vector<SegmentWork>& stages, int64_t micro_batches) {
  return SimulateMeanPacks(
      {.stages = static_cast<int64_t>(stages.size()), .micro_batches = micro_batches}, stages);
}

int64_t LockedRanks(const Job& job, const Parallelism& p) {
  if (job.training.zero_stage == ZeroStage::kWeights) return p.data;
  const int64_t experts = p.expert > 1 ? p.expert * job.training.execution.expert_tensor : 1;
  return std::clamp<int64_t>(CeilDivide(experts, p.tensor * p.context), 1, p.data);
}

SimulatedStep SimulateStep(const Job& job, const Parallelism& p, const PipelineShape& shape,
                           const std::vector<SegmentWork>& segments,
                           const std::vector<PackShape>& packs, int64_t most_events,
                           const Stop& stop, PassLists* lists, int64_t longest_ns) {
  StepCache cache(job, p, lists);
  SimulatedStep step = MeanPackStep(job, p, shape, segments, &cache, kEventsAtMost, stop);
  if (step.total_ns() > longest_ns) return step;
  const SampledSteps sample = SampleOf(job, p, shape, most_events);
  const int64_t slowest =
      MeanOfSlowest(sample, packs, RankPipeline(sample.shape, segments, cache, stop));
  const int64_t mean = sample.shape.micro_batches == shape.micro_batches
                           ? step.pipeline_ns
                           : SimulateMeanPacks(sample.shape, segments, &cache);
  const int64_t added = std::max<int64_t>(0, slowest - mean);
  step.imbalance_ns = MultiplyDivide(added, shape.micro_batches, sample.shape.micro_batches);
  return step;
}

bool SimulatesAlike(const Job& job, const Parallelism& p, const PipelineShape& shape,
                    int64_t events, int64_t other_events) {
  const SampledSteps a = SampleOf(job, p, shape, events), b = SampleOf(job, p, shape, other_events);
  return a.shape.micro_batches == b.shape.micro_batches && a.steps == b.steps && a.ranks == b.ranks;
}

int64_t RealPacksBound(const Job& job, const Parallelism& p, const PipelineShape& shape,
                       const LayerProfile& profile, const std::vector<PackShape>& packs) {
  const SampledSteps sample = SampleOf(job, p, shape, kEventsAtMost);
  if (sample.shape.micro_batches != shape.micro_batches) return 0;
  PackCost work;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    work += layer.forward;
    work += layer.forward_communication;
    if (layer.has_backward) work += layer.backward;
    if (layer.has_backward) work += layer.backward_communication;
  }
  const double stages = static_cast<double>(shape.stages);
  // Each pass is rounded to a nanosecond.
  const double rounding = static_cast<double>(shape.micro_batches * shape.virtual_stages());
  return MeanOfSlowest(sample, packs, [&](const std::vector<PackShape>& own) {
    double sum = 0;
    for (const PackShape& pack : own) sum += work.at(pack);
    return static_cast<int64_t>(std::max(0.0, sum * (1 - 1e-9) - rounding) / stages);
  });
}

}  // namespace evenkeel::planner
