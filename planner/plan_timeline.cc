#include "planner/plan_timeline.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/dealt_packs.h"
#include "planner/recompute/stage_memory.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kRanksAtMost = 4096;  // ranks simulated one by one

// Returns the segments in the order of PassValues: stage by stage, and chunk by chunk within a
// stage.
std::vector<size_t> SegmentsByUnit(const PipelineShape& shape) {
  std::vector<size_t> segments;
  for (int64_t s = 0; s < shape.stages; ++s) {
    for (int64_t k = 0; k < shape.chunks; ++k)
      segments.push_back(static_cast<size_t>(k * shape.stages + s));
  }
  return segments;
}

// Recompute has the same share of the backward pass for any pack as for the mean pack.
int64_t RecomputeOf(const SegmentWork& work, int64_t backward_ns) {
  const int64_t mean = work.backward_ns + work.recompute_ns;
  if (mean <= 0) return 0;
  return Nearest(static_cast<double>(backward_ns) * static_cast<double>(work.recompute_ns) /
                 static_cast<double>(mean));
}

PipelineSpec MeanSpec(const Job& job, const Candidate& c) {
  PipelineSpec spec = MeanPackStepPipeline(job, c.parallelism, c.shape(), c.segments);
  for (const size_t segment : SegmentsByUnit(spec.shape))
    spec.recompute_ns.push_back(c.segments[segment].recompute_ns);
  return spec;
}

// Returns the pipeline with one rank's packs, which begin at `packs[first]`.
PipelineSpec RankSpec(const PipelineSpec& mean, const Candidate& c,
                      const PerEncoder<double>& dummy_units, const std::vector<PackShape>& packs,
                      size_t first) {
  PipelineSpec spec = mean;
  spec.forward_ns.clear(), spec.backward_ns.clear(), spec.recompute_ns.clear();
  spec.weight_gradient_ns.clear();
  for (const size_t segment : SegmentsByUnit(spec.shape)) {
    const SegmentWork& work = c.segments[segment];
    for (size_t k = 0; k < static_cast<size_t>(spec.shape.micro_batches); ++k) {
      PackShape pack = packs[(first + k) % packs.size()];
      pack.units = Max(pack.units, dummy_units);
      spec.forward_ns.push_back(Nearest(work.forward.at(pack)));
      spec.backward_ns.push_back(Nearest(work.backward.at(pack)));
      spec.recompute_ns.push_back(RecomputeOf(work, spec.backward_ns.back()));
      spec.weight_gradient_ns.push_back(Nearest(work.weight_gradient.at(pack)));
    }
  }
  return spec;
}

std::vector<PipelineSpec> Ranks(const Job& job, const Evaluation& evaluation) {
  const Candidate& c = evaluation.candidate;
  const PipelineSpec mean = MeanSpec(job, c);
  const int64_t ranks = c.parallelism.data;
  const int64_t most = kEventsAtMost / std::max<int64_t>(1, TimelineCells(evaluation.plan));
  if (ranks == 1 || ranks > std::min(most, kRanksAtMost)) return {mean};
  const std::vector<PackShape> packs = DealtPacks(evaluation.batching, ranks, c.micro_batches);
  std::vector<PipelineSpec> specs;
  for (int64_t r = 0; r < ranks; ++r) {
    specs.push_back(
        RankSpec(mean, c, DummyUnits(job.model), packs, static_cast<size_t>(r * c.micro_batches)));
  }
  return specs;
}

MemoryPart Static(std::string name, const std::vector<StagePlan>& stages,
                  int64_t MemoryParts::*part) {
  MemoryPart to;
  to.name = std::move(name);
  for (const StagePlan& stage : stages) to.static_bytes.push_back(stage.memory.*part);
  return to;
}

std::vector<MemoryPart> Memory(const Evaluation& evaluation) {
  const Candidate& c = evaluation.candidate;
  const std::vector<StagePlan>& stages = evaluation.plan.stages;
  std::vector<MemoryPart> parts = {Static("weights", stages, &MemoryParts::weights),
                                   Static("gradients", stages, &MemoryParts::gradients),
                                   Static("optimizer", stages, &MemoryParts::optimizer)};
  MemoryPart activations, workspace;
  activations.name = "activations";
  workspace.name = "workspace";
  const PipelineShape shape = c.shape();
  for (const size_t segment : SegmentsByUnit(shape)) {
    const SegmentWork& work = c.segments[segment];
    const StageBytes held = MemoryOf(evaluation.profile, work.counts, work.recomputed, 1);
    activations.kept_bytes.push_back(held.kept_activation_bytes());
    workspace.backward_workspace_bytes.push_back(
        stages[segment % static_cast<size_t>(shape.stages)].memory.workspace);
  }
  if (SplitsBackward(shape.schedule)) {
    activations.weight_gradient_bytes = activations.kept_bytes;
    workspace.weight_gradient_workspace_bytes = workspace.backward_workspace_bytes;
  }
  parts.push_back(std::move(activations));
  parts.push_back(std::move(workspace));
  parts.push_back(Static("buffers", stages, &MemoryParts::buffers));
  parts.push_back(Static("communication", stages, &MemoryParts::communication));
  parts.push_back(Static("framework", stages, &MemoryParts::framework));
  parts.push_back(Static("allocator reserve", stages, &MemoryParts::allocator_reserve));
  return parts;
}

}  // namespace

int64_t TimelineCells(const Plan& plan) {
  return plan.prediction.micro_batches * plan.parallelism.pipeline *
         plan.parallelism.virtual_stages;
}

Timeline TimelineOf(const Job& job, const Evaluation& evaluation) {
  return MakeTimeline(Ranks(job, evaluation), Memory(evaluation));
}

}  // namespace evenkeel::planner
