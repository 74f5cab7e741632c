#include "planner/choose/offload_steps.h"

#include <algorithm>
#include <utility>

#include "planner/candidates/parallelisms.h"
#include "planner/candidates/work_limits.h"
#include "planner/choose/caps.h"
#include "planner/choose/keep_batch.h"
#include "planner/cuts/host_loads.h"
#include "planner/packing/dealt_packs.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

Caps CapsOf(const Batching& packs) { return {packs.rule.unit_cap, packs.rule.token_cap}; }

LayerProfile ProfileUnder(const Job& job, const PlanUnderOffload& found) {
  const Candidate& c = found.best;
  LayerProfile profile = BuildLayerProfile(job, c.parallelism, found.batching->mean,
                                           found.batching->largest, {}, c.micro_batches);
  profile.setting = c.setting;
  return profile;
}

}  // namespace

void OffloadTrials::AddPacks(const Batching& packs) {
  const bool known = std::any_of(packs_.begin(), packs_.end(),
                                 [&](const Batching& of) { return CapsOf(of) == CapsOf(packs); });
  if (!known) packs_.push_back(packs);
}

void OffloadTrials::AddPacksFor(const Job& job) {
  const CapsSearchResult search = ChooseCaps(job, 0, {.stop = hooks_.stop}, kShortSearchLimits);
  if (!search.stopped && !search.plans.best.empty()) AddPacks(search.batching);
}

void OffloadTrials::AddPacksBetween(const Job& job) {
  std::vector<Caps> known;
  for (const Batching& packs : packs_) known.push_back(CapsOf(packs));
  std::sort(known.begin(), known.end(),
            [](const Caps& a, const Caps& b) { return a.tokens < b.tokens; });
  for (size_t i = 0; i + 1 < known.size(); ++i) {
    Caps caps = known[i];
    while (caps.tokens > 0 && 2 * caps.tokens < known[i + 1].tokens) {
      caps.tokens *= 2, caps.units *= 2;
      AddPacks(MakeBatching(job, caps, "", hooks_.stop));
    }
  }
}

std::optional<PlanUnderOffload> OffloadTrials::For(const Job& job, int64_t beat_ns,
                                                   const OpenDegrees& among) {
  ++made_;
  PlanUnderOffload under;
  for (size_t i = 0; i < packs_.size(); ++i) {
    under.open.emplace_back();
    if (!among.empty() && among[i].empty()) continue;
    const SearchScope scope{.beat_ns = beat_ns,
                            .among = among.empty() ? nullptr : &among[i],
                            .all_better = beat_ns > 0};
    SearchResult found =
        SearchForBatch(job, packs_[i], 0, hooks_.stop, scope, kSideSearchLimits).found;
    if (found.stopped) return std::nullopt;
    under.open.back() = std::move(found.better);
    if (found.best.empty()) continue;
    Candidate& best = found.best.front();
    if (under.batching != nullptr && best.simulated_ns >= under.best.simulated_ns) continue;
    under.batching = &packs_[i];
    under.best = std::move(best);
  }
  if (under.batching == nullptr) return std::nullopt;
  if (beat_ns == 0) under.open.clear();  // other degrees were left out once a plan was found
  return under;
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
