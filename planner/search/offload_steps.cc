#include "planner/search/offload_steps.h"

#include <algorithm>
#include <vector>

#include "planner/search/host_loads.h"
#include "planner/search/parallelisms.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

LayerProfile ProfileUnder(const Job& job, const Batching& batching, const Candidate& c) {
  LayerProfile profile =
      BuildLayerProfile(job, c.parallelism, batching.mean, batching.largest, {}, c.micro_batches);
  profile.setting = c.setting;
  return profile;
}

}  // namespace

bool FitsOnGpus(const Job& job, const Batching& batching, const Candidate& c, const Stop& stop) {
  const std::vector<StagePlan> stages = StagePlans(job, ProfileUnder(job, batching, c), c, stop);
  return std::all_of(stages.begin(), stages.end(),
                     [](const StagePlan& stage) { return stage.free_bytes() >= 0; });
}

std::optional<int64_t> StepOf(const Job& job, const Batching& batching, const Candidate& c,
                              const Stop& stop) {
  const LayerProfile profile = ProfileUnder(job, batching, c);
  for (int64_t s = 0; s < c.parallelism.pipeline; ++s)
    if (!HostHasRoom(profile, HostLoads(profile, c, s))) return std::nullopt;
  const Candidate with =
      Evaluate(job, profile, c.parallelism, c.micro_batches, c.boundaries, c.recomputed,
               DealtPacks(batching, c.parallelism.data, c.micro_batches, stop), c.schedule, stop);
  return ScaleToBatch(with.step.total_ns(),
                      batching.packs_per_step(job.training.global_batch_samples), c.micro_batches,
                      c.parallelism.data);
}

}  // namespace evenkeel::planner
