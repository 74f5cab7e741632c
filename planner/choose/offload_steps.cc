#include "planner/choose/offload_steps.h"

#include <algorithm>
#include <utility>

#include "planner/choose/caps.h"
#include "planner/choose/keep_batch.h"
#include "planner/packing/dealt_packs.h"
#include "planner/search/host_loads.h"
#include "planner/search/parallelisms.h"
#include "planner/search/stage_plans.h"
#include "planner/search/work_limits.h"

namespace evenkeel::planner {
namespace {

LayerProfile ProfileUnder(const Job& job, const PlanUnderOffload& found) {
  const Candidate& c = found.best;
  LayerProfile profile = BuildLayerProfile(job, c.parallelism, found.batching->mean,
                                           found.batching->largest, {}, c.micro_batches);
  profile.setting = c.setting;
  return profile;
}

}  // namespace

void OffloadTrials::AddPacks(const Job& job) {
  CapsSearchResult search = ChooseCaps(job, 0, {.stop = hooks_.stop}, kShortSearchLimits);
  if (search.stopped || search.plans.best.empty()) return;
  const bool known = std::any_of(packs_.begin(), packs_.end(), [&](const Batching& packs) {
    return Caps{packs.rule.unit_cap, packs.rule.token_cap} == search.caps();
  });
  if (!known) packs_.push_back(std::move(search.batching));
}

std::optional<PlanUnderOffload> OffloadTrials::For(const Job& job, int64_t best_ns) {
  ++made_;
  std::optional<PlanUnderOffload> best;
  int64_t beat_ns = StepToBeat(best_ns);
  for (const Batching& packs : packs_) {
    SearchResult found =
        SearchForBatch(job, packs, 0, hooks_.stop, beat_ns, kSideSearchLimits).found;
    if (found.stopped) return std::nullopt;
    if (found.best.empty()) continue;
    best = {&packs, std::move(found.best.front())};
    beat_ns = best->best.simulated_ns;
  }
  return best;
}

bool FitsOnGpus(const Job& job, const PlanUnderOffload& found, const Stop& stop) {
  const std::vector<StagePlan> stages = StagePlans(job, ProfileUnder(job, found), found.best, stop);
  return std::all_of(stages.begin(), stages.end(),
                     [](const StagePlan& stage) { return stage.free_bytes() >= 0; });
}

std::optional<int64_t> StepOf(const Job& job, const PlanUnderOffload& found, const Stop& stop) {
  const Candidate& c = found.best;
  const LayerProfile profile = ProfileUnder(job, found);
  for (int64_t s = 0; s < c.parallelism.pipeline; ++s)
    if (!HostHasRoom(profile, HostLoads(profile, c, s))) return std::nullopt;
  const Candidate with = Evaluate(
      job, profile, c.parallelism, c.micro_batches, c.boundaries, c.recomputed,
      DealtPacks(*found.batching, c.parallelism.data, c.micro_batches, stop), c.schedule, stop);
  return ScaleToBatch(with.step.total_ns(),
                      found.batching->packs_per_step(job.training.global_batch_samples),
                      c.micro_batches, c.parallelism.data);
}

}  // namespace evenkeel::planner
