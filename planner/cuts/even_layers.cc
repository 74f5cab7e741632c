#include "planner/cuts/even_layers.h"

#include <algorithm>

#include "planner/cost/memory.h"
#include "planner/cuts/chunked_recompute.h"
#include "planner/cuts/even_cuts.h"
#include "planner/partition/segments.h"
#include "planner/simulate/held_passes.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

EvenLayers::EvenLayers(const Job& job, const LayerProfile& profile, const Parallelism& p,
                       Schedule schedule, int64_t micro_batches)
    : policy_(job.constraints.recompute), allocatable_(AllocatableBytes(job)) {
  const std::vector<int64_t> cut = job.constraints.stage_layers.empty()
                                       ? EvenLayerCut(profile, p)
                                       : CutAfter(profile, job.constraints.stage_layers);
  const PipelineShape shape = ShapeOf(p, schedule, micro_batches);
  for (int64_t s = 0; s < p.pipeline; ++s) {
    const std::vector<int64_t> held = MostHeld(shape, s);
    std::vector<ChunkLoad>& stage = stages_.emplace_back();
    for (int64_t k = 0; k < p.virtual_stages; ++k) {
      const size_t segment = static_cast<size_t>(k * p.pipeline + s);
      stage.push_back({LayersBetween(profile, cut[segment], cut[segment + 1]),
                       held[static_cast<size_t>(k)], cut[segment]});
    }
  }
}

bool EvenLayers::Fits(const LayerProfile& profile, const std::vector<ChunkLoad>& stage) const {
  return ChunkedLeastRecompute(profile, stage, allocatable_, policy_).has_value();
}

bool EvenLayers::Fit(const LayerProfile& profile) const {
  return std::all_of(stages_.begin(), stages_.end(),
                     [&](const std::vector<ChunkLoad>& stage) { return Fits(profile, stage); });
}

bool EvenLayers::FitWithOneMore(const LayerProfile& profile) const {
  if (!Fit(profile)) return false;
  for (std::vector<ChunkLoad> stage : stages_) {
    ChunkLoad& fullest = *std::max_element(
        stage.begin(), stage.end(),
        [](const ChunkLoad& a, const ChunkLoad& b) { return a.in_flight < b.in_flight; });
    for (size_t k = 0; k < profile.classes.size(); ++k) {
      if (!IsTransformerLayer(profile.classes[k].kind)) continue;
      ++fullest.counts[k];
      if (!Fits(profile, stage)) return false;
      --fullest.counts[k];
    }
  }
  return true;
}

}  // namespace evenkeel::planner
