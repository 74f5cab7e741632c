#include "planner/search/prospects.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/memory.h"
#include "planner/search/parallelisms.h"

namespace evenkeel::planner {
namespace {

bool SameButForChunks(const Parallelism& a, const Parallelism& b) {
  Parallelism other = b;
  other.virtual_stages = a.virtual_stages;
  return a == other;
}

// Packs whose activations a stage holds, as the mean over all stages.
double MeanHeld(const Parallelism& p, Schedule schedule, int64_t micro_batches) {
  const double stages = static_cast<double>(p.pipeline), m = static_cast<double>(micro_batches);
  switch (schedule) {
    case Schedule::kGPipe:
      return m;
    case Schedule::kInterleaved:
      return std::min(m, stages);
    case Schedule::kOneFOneB:
    case Schedule::kZeroBubble:
      return std::min(m, (stages + 1) / 2);
  }
  return m;
}

// What even stages would have to recompute to fit, in proportion to the bytes that they lack, ns of
// a step. Stages that do not fit count as if they recomputed twice.
int64_t RecomputeEstimate(const Job& job, const LayerProfile& profile, const Parallelism& p,
                          Schedule schedule, int64_t micro_batches) {
  double kept = 0, least = 0, states = 0, workspace = 0, repeated_ns = 0;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    kept += static_cast<double>(layer.modes.front().kept_bytes);
    least += static_cast<double>(layer.modes.back().kept_bytes);
    states += static_cast<double>(layer.static_bytes());
    workspace = std::max(workspace, static_cast<double>(layer.modes.front().workspace_bytes));
    repeated_ns += static_cast<double>(layer.modes.back().repeated_ns);
  }
  const double stages = static_cast<double>(p.pipeline);
  const double held = MeanHeld(p, schedule, micro_batches) / stages;
  const double room = static_cast<double>(AllocatableBytes(job)) - workspace -
                      static_cast<double>(profile.buffer_bytes) - states / stages;
  const double missing = held * kept - room, saved = held * (kept - least);
  double share = missing <= 0 ? 0 : missing > saved ? 2 : missing / saved;
  if (job.constraints.recompute == RecomputePolicy::kForbidden && share > 0) share = 2;
  if (job.constraints.recompute == RecomputePolicy::kFull) share = std::max(share, 1.0);
  return Nearest(share * repeated_ns / stages * static_cast<double>(micro_batches));
}

}  // namespace

const Profiles::Entry& Profiles::Of(const Parallelism& p) {
  const auto [at, added] = entries_.try_emplace(
      std::tuple(p.tensor, p.context, p.data, p.expert, p.pipeline == 1 ? 0 : p.virtual_stages));
  if (added) {
    at->second.profile = BuildLayerProfile(job_, p, batching_.mean, batching_.largest);
    at->second.work = WorkOf(at->second.profile);
  }
  return at->second;
}

std::vector<Prospect> Prospects(const Job& job, double packs_per_step, Profiles& profiles,
                                const Stop& stop) {
  std::vector<Prospect> prospects;
  const Profiles::Entry* entry = nullptr;
  int64_t least_send_ns = 0, sync_bound_ns = 0;
  for (const Parallelism& p : Parallelisms(job, packs_per_step)) {
    if (stop && stop()) return prospects;
    // Of those that differ in virtual stages alone, what is known of one is known of all.
    if (entry == nullptr || !SameButForChunks(prospects.back().parallelism, p)) {
      // Times and shares of the memory are those of one chunk.
      Parallelism one_chunk = p;
      one_chunk.virtual_stages = 1;
      entry = &profiles.Of(one_chunk);
      least_send_ns = LeastSend(job, p, entry->work);
      sync_bound_ns = SyncBound(job, entry->profile, p);
    }
    const Schedule schedule = ScheduleOf(job.constraints, p);
    for (const int64_t m : MicroBatchChoices(packs_per_step, p)) {
      prospects.push_back(
          {.parallelism = p,
           .schedule = schedule,
           .micro_batches = m,
           .profile = &entry->profile,
           .bound_ns = PipelineBound(entry->work, p, schedule, m, least_send_ns) + sync_bound_ns,
           .estimate_ns = PipelineEstimate(entry->work, p, schedule, m, least_send_ns) +
                          RecomputeEstimate(job, entry->profile, p, schedule, m) + sync_bound_ns});
    }
  }
  return prospects;
}

bool HoldsItsShare(const Job& job, const LayerProfile& profile, const Parallelism& p) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < profile.size(); ++i) bytes += profile.at(i).static_bytes();
  return bytes / p.pipeline <= AllocatableBytes(job);
}

}  // namespace evenkeel::planner
