#include "planner/candidates/prospects.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/candidates/parallelisms.h"
#include "planner/cost/memory.h"
#include "planner/recompute/one_setting.h"

namespace evenkeel::planner {
namespace {

bool SameButForChunks(const Parallelism& a, const Parallelism& b) {
  Parallelism other = b;
  other.virtual_stages = a.virtual_stages;
  return a == other;
}

// Returns the packs whose activations a stage holds, as the mean over all stages.
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

// Returns the ns per step that even stages would recompute to fit, in proportion to the bytes that
// they lack. Stages that cannot fit count as if they recomputed twice.
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

// Returns the most layers of a class that fit on a stage that holds `held` packs.
int64_t MostLayers(const RecomputeSetting& setting, const LayerCost& layer, int64_t held,
                   int64_t room) {
  const RecomputeMode& mode = layer.modes[*ModeUnder(setting, layer)];
  const int64_t left = room - mode.workspace_bytes;
  if (left < 0) return 0;
  constexpr int64_t kAny = RecomputeSetting::kEveryLayer;
  const Wide each = layer.static_bytes() + Wide{held} * mode.kept_bytes;
  const int64_t most = each > 0 ? static_cast<int64_t>(std::min<Wide>(kAny, left / each)) : kAny;
  const bool blocks = !setting.uniform() && layer.kind != LayerKind::kEncoder;
  if (!blocks || most <= setting.block) return most;
  const Wide full = layer.static_bytes() + Wide{held} * layer.modes.front().kept_bytes;
  const Wide rest = full > 0 ? (left - setting.block * each) / full : Wide{kAny};
  return setting.block + static_cast<int64_t>(std::min<Wide>(kAny, rest));
}

}  // namespace

Profiles::Key Profiles::KeyOf(const Parallelism& p) {
  return {p.tensor, p.context,      p.data,
          p.expert, p.encoder_data, p.pipeline == 1 ? 0 : p.virtual_stages};
}

const Profiles::Entry& Profiles::EntryFor(const Parallelism& p) {
  const auto [at, added] = entries_.try_emplace(KeyOf(p));
  if (added) {
    // Numbers of micro-batches that are planned for the same degrees are all 1, or all more.
    const double packs = batching_.packs_per_step(job_.training.global_batch_samples);
    at->second.profile = BuildLayerProfile(job_, p, batching_.mean, batching_.largest, {},
                                           MicroBatches(packs, p.data));
    at->second.work = ChainWorkOf(at->second.profile);
  }
  return at->second;
}

const Profiles::Entry& Profiles::EntryFor(const Parallelism& p, const RecomputeSetting& setting) {
  const auto [at, added] = under_settings_.try_emplace({KeyOf(p), setting});
  if (added) {
    at->second.profile = EntryFor(p).profile;
    at->second.profile.setting = setting;
    at->second.work = ChainWorkOf(at->second.profile);
  }
  return at->second;
}

const ChainWork& Profiles::WorkUnder(const Parallelism& p, const RecomputeSetting& setting) {
  const auto [at, added] = work_under_settings_.try_emplace({KeyOf(p), setting});
  if (added) {
    LayerProfile profile = EntryFor(p).profile;
    profile.setting = setting;
    at->second = ChainWorkOf(profile);
  }
  return at->second;
}

std::vector<Prospect> Prospects(const Job& job, double packs_per_step,
                                const std::vector<Parallelism>* among, Profiles& profiles,
                                const Stop& stop) {
  std::vector<Prospect> prospects;
  const Profiles::Entry* entry = nullptr;
  int64_t least_send_ns = 0, sync_bound_ns = 0, sync_estimate_ns = 0;
  for (const Parallelism& p : Parallelisms(job, packs_per_step)) {
    if (stop()) return prospects;
    if (among != nullptr && std::find(among->begin(), among->end(), p) == among->end()) continue;
    // These values are equal for all parallelisms that differ only in virtual stages.
    if (prospects.empty() || !SameButForChunks(prospects.back().parallelism, p)) {
      // Times and shares of the memory are those of one chunk.
      Parallelism one_chunk = p;
      one_chunk.virtual_stages = 1;
      entry = &profiles.EntryFor(one_chunk);
      least_send_ns = LeastSend(job, p, entry->work);
      sync_bound_ns = SyncBound(job, entry->profile, p);
      sync_estimate_ns = SyncEstimate(job, entry->profile, p);
    }
    const Schedule schedule = ScheduleOf(job.constraints, p);
    for (const int64_t m : MicroBatchChoices(packs_per_step, p)) {
      const int64_t bound_ns =
          PipelineBound(entry->work, p, schedule, m, least_send_ns) + sync_bound_ns;
      prospects.push_back(
          {.parallelism = p,
           .schedule = schedule,
           .micro_batches = m,
           .profile = &entry->profile,
           .least_send_ns = least_send_ns,
           .sync_bound_ns = sync_bound_ns,
           .sync_estimate_ns = sync_estimate_ns,
           .bound_ns = bound_ns,
           .free_bound_ns = bound_ns,
           .estimate_ns = PipelineEstimate(entry->work, p, schedule, m, least_send_ns) +
                          RecomputeEstimate(job, entry->profile, p, schedule, m) +
                          sync_estimate_ns});
    }
  }
  return prospects;
}

Prospect WithSetting(const Job& job, const RecomputeSetting& setting, const Prospect& prospect,
                     Profiles& profiles) {
  const Parallelism& p = prospect.parallelism;
  Parallelism one_chunk = p;
  one_chunk.virtual_stages = 1;
  const ChainWork& work = profiles.WorkUnder(one_chunk, setting);
  Prospect under = prospect;
  under.setting = setting;
  if (p.pipeline == 1)
    under.sync_estimate_ns = under.sync_bound_ns =
        SyncBound(job, profiles.EntryFor(one_chunk, setting).profile, p);
  const int64_t m = prospect.micro_batches;
  under.bound_ns = std::max(
      prospect.free_bound_ns,
      PipelineBound(work, p, prospect.schedule, m, under.least_send_ns) + under.sync_bound_ns);
  under.estimate_ns =
      PipelineEstimate(work, p, prospect.schedule, m, under.least_send_ns) + under.sync_estimate_ns;
  // Adds the time that blocks repeat on a stage with its share of every class.
  for (const ChainWork::Class& of_class : work.classes) {
    const int64_t chunk = CeilDivide(of_class.layers, p.pipeline * p.virtual_stages);
    under.estimate_ns +=
        m * p.virtual_stages * std::min(of_class.block, chunk) * of_class.repeated_ns;
  }
  return under;
}

bool MayFit(const Job& job, const Prospect& prospect) {
  const LayerProfile& profile = *prospect.profile;
  const int64_t stages = prospect.parallelism.pipeline, room = AllocatableBytes(job);
  int64_t bytes = 0, host_bytes = 0;
  for (int64_t i = 0; i < profile.size(); ++i) {
    bytes += profile.at(i).states_bytes();
    host_bytes += profile.at(i).host_bytes;
  }
  if (bytes / stages > room || host_bytes / stages > profile.host_room) return false;
  if (!prospect.setting || prospect.schedule != Schedule::kOneFOneB) return true;
  ClassCounts layers{};
  for (const auto kind : profile.chain) ++layers[static_cast<size_t>(kind)];
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    int64_t most = 0;
    for (int64_t s = 0; s < stages && most < layers[k]; ++s)
      most += MostLayers(*prospect.setting, profile.classes[k],
                         std::min(prospect.micro_batches, stages - s), room);
    if (most < layers[k]) return false;
  }
  return true;
}

}  // namespace evenkeel::planner
