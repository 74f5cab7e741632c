#include "planner/cuts/memory_prospect.h"

#include <algorithm>

#include "planner/candidates/parallelisms.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {
namespace {

// Segments of one chunk that take as long to look at as several chunks may.
constexpr int64_t kSegmentsPerRelief = 20'000;

}  // namespace

int64_t MemoryProspect::segments() const {
  if (shape.chunks > 1) return kSegmentsPerRelief;
  const int64_t window = profile.size() - shape.stages + 1;
  return window < 1 ? 0 : shape.stages * (window * (window + 1) / 2);
}

std::vector<MemoryProspect> ProspectsByMemory(const Job& job, const Batching& batching,
                                              const Stop& stop) {
  const double packs_per_step = batching.packs_per_step(job.training.global_batch_samples);
  std::vector<MemoryProspect> prospects;
  for (const Parallelism& p : Parallelisms(job, packs_per_step)) {
    if (stop()) return {};
    // Fewer packs hold less.
    const int64_t packs = MicroBatchChoices(packs_per_step, p).back();
    MemoryProspect prospect{.parallelism = p,
                            .shape = ShapeOf(p, ScheduleOf(job.constraints, p), packs)};
    prospect.profile = BuildLayerProfile(job, p, batching.mean, batching.largest, {}, packs);
    for (int64_t i = 0; i < prospect.profile.size(); ++i)
      prospect.least_static_bytes += prospect.profile.at(i).states_bytes();
    prospect.least_static_bytes /= p.pipeline;
    prospects.push_back(std::move(prospect));
  }
  std::stable_sort(prospects.begin(), prospects.end(),
                   [](const MemoryProspect& a, const MemoryProspect& b) {
                     return a.least_static_bytes < b.least_static_bytes;
                   });
  return prospects;
}

std::vector<int64_t> LayersPerSegment(const LayerProfile& profile,
                                      const std::vector<int64_t>& boundaries) {
  std::vector<int64_t> layers(boundaries.size() - 1);
  for (size_t k = 0; k + 1 < boundaries.size(); ++k) {
    for (int64_t i = boundaries[k]; i < boundaries[k + 1]; ++i)
      layers[k] += IsTransformerLayer(profile.at(i).kind) ? 1 : 0;
  }
  return layers;
}

}  // namespace evenkeel::planner
