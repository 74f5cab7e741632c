#include "tests/validation/harness/evaluate.h"

#include <algorithm>

#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/recompute/least_recompute.h"
#include "planner/search/stage_plans.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using namespace planner;  // NOLINT: the planner's values throughout

int64_t Transformers(const ChunkSpec& chunk) {
  int64_t layers = 0;
  for (const LayerGroup& group : chunk.layers) layers += group.count;
  return layers;
}

size_t KindIndex(const LayerProfile& profile, LayerKind kind) {
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    if (profile.classes[k].kind == kind) return k;
  }
  return 0;
}

size_t ModeIndex(const LayerCost& layer, RecomputeParts parts) {
  for (size_t q = 0; q < layer.modes.size(); ++q) {
    if (layer.modes[q].parts == parts) return q;
  }
  return 0;
}

// Layers by kind and mode of chunk i. Layers other than transformer layers go with the first or
// last chunk.
struct ChunkLayers {
  ClassCounts counts{};
  ModeCounts recomputed{};
};

ChunkLayers LayersOf(const LayerProfile& profile, const PlanSpec& spec, size_t i) {
  ChunkLayers layers;
  for (const LayerGroup& group : spec.chunks[i].layers) {
    const size_t k = KindIndex(profile, group.kind);
    layers.counts[k] += group.count;
    for (const RecomputedLayers& r : group.recomputed)
      layers.recomputed[k][ModeIndex(profile.classes[k], r.parts)] += r.count;
  }
  if (i == 0) layers.counts[KindIndex(profile, LayerKind::kTokenEmbedding)] = 1;
  if (i + 1 == spec.chunks.size()) layers.counts[KindIndex(profile, LayerKind::kHead)] = 1;
  return layers;
}

// Returns the fewest whole layers, in the order of the stage's kinds, whose recompute makes it fit.
double LeastRecomputed(const Case& run, const LayerProfile& profile, size_t s, PlanSpec& spec) {
  const int64_t allocatable = AllocatableBytes(run.job.cluster);
  const int64_t in_flight =
      std::min(spec.micro_batches, spec.parallelism.pipeline - static_cast<int64_t>(s));
  std::vector<LayerGroup>& groups = spec.chunks[s].layers;
  const int64_t layers = Transformers(spec.chunks[s]);
  for (int64_t n = 0; n <= layers; ++n) {
    int64_t left = n;
    for (LayerGroup& group : groups) {
      const int64_t take = std::min(left, group.count);
      group.recomputed.clear();
      if (take > 0) group.recomputed.push_back({.parts = kWholeLayer, .count = take});
      left -= take;
    }
    const ChunkLayers all = LayersOf(profile, spec, s);
    if (MemoryOf(profile, all.counts, all.recomputed, in_flight).allocated() <= allocatable)
      return static_cast<double>(n);
  }
  return kNoFit;
}

class Evaluator {
 public:
  explicit Evaluator(const Case& run)
      : run_(run),
        profile_(BuildLayerProfile(run.job, run.spec.parallelism, run.batching.mean,
                                   run.batching.largest, PartsIn(run.spec))) {}

  Outcome Run() {
    Case run = run_;
    if (run.least_recompute) {
      for (size_t s = 0; s < run.spec.chunks.size(); ++s)
        recomputed_.push_back(LeastRecomputed(run, profile_, s, run.spec));
    }
    const Evaluation evaluation = EvaluatePlan(run.job, run.batching, run.spec);
    if (!evaluation.faults.empty()) {
      outcome_.fault = evaluation.faults.front().field + " " + evaluation.faults.front().message;
      outcome_.predicted.resize(run.measured.size());
      return outcome_;
    }
    for (const StagePlan& stage : evaluation.plan.stages) {
      outcome_.stages.push_back(stage.memory);
      outcome_.stage_ns.push_back(stage.forward_ns + stage.backward_ns + stage.recompute_ns);
    }
    outcome_.step = evaluation.plan.prediction.step;
    outcome_.regime = RegimeOf(run.job, run.spec.parallelism, run.batching.mean.tokens,
                               evaluation.plan.prediction.step);
    outcome_.step_interval = evaluation.plan.prediction.step_interval;
    outcome_.memory_interval = evaluation.plan.prediction.memory_interval;
    iteration_ns_ = static_cast<double>(outcome_.step.total_ns);
    for (const Measurement& m : run.measured) outcome_.predicted.push_back(Figured(m));
    return outcome_;
  }

  bool fits() const {
    return std::all_of(outcome_.stages.begin(), outcome_.stages.end(), [&](const MemoryParts& m) {
      return m.total() <= CapacityBytes(run_.job.cluster);
    });
  }
  double iteration_ns() const { return iteration_ns_; }

 private:
  std::optional<double> Figured(const Measurement& m) const {
    switch (m.figure) {
      case Figure::kIteration:
        return iteration_ns_;
      case Figure::kLayerForward:
        return static_cast<double>(Dense().forward_ns);
      case Figure::kLayerBackward:
        return static_cast<double>(Dense().backward_ns + DenseMode().repeated_ns);
      case Figure::kKeptPerLayer: {
        const LayerCost& layer = profile_.classes[KindIndex(profile_, LayerKind::kEncoder)];
        return static_cast<double>(layer.modes.front().kept_bytes - layer.modes.back().kept_bytes);
      }
      case Figure::kRecomputed:
        return recomputed_[static_cast<size_t>(m.stage)];
      default:
        return MemoryFigure(m);
    }
  }

  std::optional<double> MemoryFigure(const Measurement& m) const {
    if (m.stage == kFullestStage) {
      double most = 0;
      for (const MemoryParts& parts : outcome_.stages) most = std::max(most, ValueOf(m, parts));
      return most;
    }
    const size_t s =
        m.stage == kLastStage ? outcome_.stages.size() - 1 : static_cast<size_t>(m.stage);
    if (s >= outcome_.stages.size()) return std::nullopt;
    return ValueOf(m, outcome_.stages[s]);
  }

  // Returns the bytes that stay allocated between iterations. Megatron's pipelines then hold two to
  // three hidden states per chunk, which outlive the schedule that sent and received them.
  double States(const MemoryParts& parts) const {
    const Parallelism& p = run_.spec.parallelism;
    int64_t left = LibraryBytes(run_.job);
    if (p.pipeline > 1) left += (2 * p.virtual_stages + 1) * Dense().output_bytes;
    return static_cast<double>(parts.weights + parts.gradients + parts.optimizer + left);
  }

  double ValueOf(const Measurement& m, const MemoryParts& parts) const {
    const auto bytes = [](int64_t value) { return static_cast<double>(value); };
    if (m.figure == Figure::kStates) return States(parts);
    if (m.figure == Figure::kReserved) return bytes(parts.reserved());
    return bytes(m.figure == Figure::kUsed ? parts.total() : parts.allocated());
  }

  const LayerCost& Dense() const {
    return profile_.classes[KindIndex(profile_, LayerKind::kDense)];
  }
  const RecomputeMode& DenseMode() const {
    const std::vector<RecomputeParts> parts = PartsIn(run_.spec);
    return Dense().modes[ModeIndex(Dense(), parts.empty() ? RecomputeParts{0} : parts.front())];
  }

  const Case& run_;
  const LayerProfile profile_;
  std::vector<double> recomputed_;
  double iteration_ns_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome Evaluate(const Case& run) {
  if (run.micro_batch_choices.empty()) return Evaluator(run).Run();
  Outcome best;
  double best_ns = 0;
  bool best_fits = false;
  for (const int64_t samples : run.micro_batch_choices) {
    Case chosen = run;
    chosen.batching = EqualPacks(samples, run.sequence);
    chosen.spec.micro_batches = run.samples_per_rank / samples;
    Evaluator evaluator(chosen);
    Outcome outcome = evaluator.Run();
    outcome.chosen = "micro-batch " + std::to_string(samples);
    const bool better = evaluator.fits() > best_fits ||
                        (evaluator.fits() == best_fits && evaluator.iteration_ns() < best_ns);
    if (!outcome.fault.empty() && best.predicted.empty()) best.fault = outcome.fault;
    if (!outcome.fault.empty() || (!best.predicted.empty() && !better)) continue;
    best = outcome, best_ns = evaluator.iteration_ns(), best_fits = evaluator.fits();
  }
  return best;
}

}  // namespace evenkeel::validation
