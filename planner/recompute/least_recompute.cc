#include "planner/recompute/least_recompute.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "planner/recompute/adaptive_recompute.h"
#include "planner/recompute/mode_knapsack.h"
#include "planner/recompute/one_setting.h"

namespace evenkeel::planner {
namespace {

// Returns whether a layer may run in its mode q under the policy.
bool ModeAllowed(const LayerCost& layer, size_t q, RecomputePolicy policy) {
  return policy == RecomputePolicy::kAuto || policy == RecomputePolicy::kOneSetting || q == 0 ||
         q + 1 == layer.modes.size();
}

// The layers of one kind in one chunk.
struct Run {
  size_t chunk = 0, kind = 0;
};

// The workspace is the largest of all layers' workspaces, so there is one knapsack for each size it
// can have, over the modes that need no more.
class Choosing {
 public:
  Choosing(const LayerProfile& profile, std::span<const ChunkLoad> chunks, int64_t allocatable,
           RecomputePolicy policy)
      : profile_(profile), chunks_(chunks), allocatable_(allocatable), policy_(policy) {
    // Later kinds come first, because they are preferred if times tie.
    for (size_t k = profile.classes.size(); k-- > 0;) {
      for (size_t c = 0; c < chunks.size(); ++c) {
        if (chunks[c].counts[k] > 0) Add({c, k});
      }
    }
    std::sort(workspaces_.begin(), workspaces_.end(), std::greater<>());
    workspaces_.erase(std::unique(workspaces_.begin(), workspaces_.end()), workspaces_.end());
  }

  std::optional<ChunkedRecompute> Least() {
    for (const int64_t workspace : workspaces_) {
      if (workspace < least_workspace_ || !Try(workspace)) break;
    }
    if (best_.layers.empty()) return std::nullopt;
    ChunkedRecompute choice{.recomputed = std::vector<ModeCounts>(chunks_.size()),
                            .recompute_ns = best_.time_ns,
                            .undecided_ns = best_.undecided_ns()};
    for (size_t g = 0; g < best_runs_.size(); ++g) {
      const auto [chunk, kind] = best_runs_[g];
      for (size_t i = 0; i < best_modes_[g].size(); ++i) {
        if (best_modes_[g][i] > 0)
          choice.recomputed[chunk][kind][best_modes_[g][i]] = best_.layers[g][i];
      }
    }
    return choice;
  }

 private:
  void Add(const Run& run) {
    const LayerCost& layer = profile_.classes[run.kind];
    static_bytes_ += chunks_[run.chunk].counts[run.kind] * layer.static_bytes();
    runs_.push_back(run);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t q = 0; q < layer.modes.size(); ++q) {
      if (!ModeAllowed(layer, q, policy_)) continue;
      workspaces_.push_back(layer.modes[q].workspace_bytes);
      least = std::min(least, layer.modes[q].workspace_bytes);
    }
    least_workspace_ = std::max(least_workspace_, least);
  }

  // Returns false if no smaller workspace can do better.
  bool Try(int64_t workspace) {
    std::vector<ModeKnapsack::Group> groups;
    std::vector<std::vector<size_t>> modes;
    int64_t quickest = 0;
    for (const Run& run : runs_) {
      const LayerCost& layer = profile_.classes[run.kind];
      const ChunkLoad& chunk = chunks_[run.chunk];
      ModeKnapsack::Group group{.layers = chunk.counts[run.kind]};
      std::vector<size_t> allowed;
      int64_t least = std::numeric_limits<int64_t>::max();
      for (size_t q = 0; q < layer.modes.size(); ++q) {
        const RecomputeMode& mode = layer.modes[q];
        if (!ModeAllowed(layer, q, policy_) || mode.workspace_bytes > workspace) continue;
        const int64_t time = q == 0 ? 0 : mode.repeated_ns;
        least = std::min(least, time);
        group.modes.push_back({time, HeldBytes(chunk.in_flight, mode.kept_bytes), q > 0});
        allowed.push_back(q);
      }
      quickest += group.layers * least;
      groups.push_back(std::move(group));
      modes.push_back(std::move(allowed));
    }
    if (quickest > best_.time_ns) return false;
    const ModeKnapsack knapsack(std::move(groups));
    if (knapsack.Improve(allocatable_ - static_bytes_ - workspace, &best_)) {
      best_runs_ = runs_;
      best_modes_ = std::move(modes);
    }
    return best_.time_ns > 0 || best_.counted > 0;
  }

  const LayerProfile& profile_;
  const std::span<const ChunkLoad> chunks_;
  const int64_t allocatable_;
  const RecomputePolicy policy_;
  std::vector<Run> runs_;
  std::vector<int64_t> workspaces_;
  int64_t static_bytes_ = 0;
  int64_t least_workspace_ = 0;
  ModeKnapsack::Solution best_{.time_ns = std::numeric_limits<int64_t>::max(),
                               .counted = std::numeric_limits<int64_t>::max()};
  std::vector<Run> best_runs_;
  std::vector<std::vector<size_t>> best_modes_;
};

// Returns a lower bound on the bytes that any choice allocates, to reject most misfits quickly.
int64_t AllocatedAtLeast(const LayerProfile& profile, std::span<const ChunkLoad> chunks,
                         RecomputePolicy policy) {
  int64_t states = 0, kept_bytes = 0, workspace = 0, update = 0;
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    const LayerCost& layer = profile.classes[k];
    int64_t kept = layer.modes.front().kept_bytes, needed = layer.modes.front().workspace_bytes;
    for (size_t q = 1; q < layer.modes.size(); ++q) {
      if (!ModeAllowed(layer, q, policy)) continue;
      kept = std::min(kept, layer.modes[q].kept_bytes);
      needed = std::min(needed, layer.modes[q].workspace_bytes);
    }
    for (const ChunkLoad& chunk : chunks) {
      if (chunk.counts[k] == 0) continue;
      states += chunk.counts[k] * layer.static_bytes();
      update += chunk.counts[k] * layer.update_bytes;
      kept_bytes += chunk.counts[k] * HeldBytes(chunk.in_flight, kept);
      workspace = std::max(workspace, needed);
    }
  }
  return states + std::max(kept_bytes + workspace, update);
}

template <typename RecomputedOf>  // the recompute of a chunk by its layers
std::optional<ChunkedRecompute> Given(const LayerProfile& profile,
                                      std::span<const ChunkLoad> chunks, int64_t allocatable,
                                      const RecomputedOf& recomputed) {
  ChunkedRecompute choice;
  for (const ChunkLoad& chunk : chunks) {
    choice.recomputed.push_back(recomputed(chunk));
    choice.recompute_ns += RepeatedTime(profile, choice.recomputed.back());
  }
  if (MemoryOf(profile, chunks, choice.recomputed).allocated() > allocatable) return std::nullopt;
  return choice;
}

}  // namespace

std::optional<ChunkedRecompute> LeastRecompute(const LayerProfile& profile,
                                               std::span<const ChunkLoad> chunks,
                                               int64_t allocatable, RecomputePolicy policy) {
  if (!HostHasRoom(profile, chunks)) return std::nullopt;
  const auto nothing = [](const ChunkLoad&) { return ModeCounts{}; };
  const auto all = [&](const ChunkLoad& chunk) { return AllRecomputed(profile, chunk.counts); };
  const auto set = [&](const ChunkLoad& chunk) {
    return RecomputedUnderSetting(profile, chunk.counts, chunk.begin);
  };
  switch (policy) {
    case RecomputePolicy::kFull:
      return Given(profile, chunks, allocatable, all);
    case RecomputePolicy::kForbidden:
      return Given(profile, chunks, allocatable, nothing);
    case RecomputePolicy::kAdaptive:
      return AdaptiveRecompute(profile, chunks, allocatable);
    case RecomputePolicy::kOneSetting:
      if (profile.setting) return Given(profile, chunks, allocatable, set);
      break;
    case RecomputePolicy::kAuto:
    case RecomputePolicy::kWholeLayers:
      break;
  }
  if (AllocatedAtLeast(profile, chunks, policy) > allocatable) return std::nullopt;
  if (auto none = Given(profile, chunks, allocatable, nothing)) return none;
  return Choosing(profile, chunks, allocatable, policy).Least();
}

std::optional<RecomputeChoice> LeastRecompute(const LayerProfile& profile, const ChunkLoad& stage,
                                              int64_t allocatable, RecomputePolicy policy) {
  // Most stages are settled here, without what several chunks take.
  const auto fits = [&](const ModeCounts& recomputed) {
    return MemoryOf(profile, {&stage, 1}, {&recomputed, 1}).allocated() <= allocatable;
  };
  if (!HostHasRoom(profile, stage)) return std::nullopt;
  if (policy == RecomputePolicy::kOneSetting && profile.setting) {
    const ModeCounts set = RecomputedUnderSetting(profile, stage.counts, stage.begin);
    if (!fits(set)) return std::nullopt;
    return RecomputeChoice{set, RepeatedTime(profile, set)};
  }
  const bool free = policy == RecomputePolicy::kAuto || policy == RecomputePolicy::kWholeLayers ||
                    policy == RecomputePolicy::kOneSetting;
  if (free && fits(ModeCounts{})) return RecomputeChoice{};
  const auto choice = LeastRecompute(profile, {&stage, 1}, allocatable, policy);
  if (!choice) return std::nullopt;
  return RecomputeChoice{choice->recomputed.front(), choice->recompute_ns, choice->undecided_ns};
}

ModeCounts SmallestRecompute(const LayerProfile& profile, const ChunkLoad& stage,
                             RecomputePolicy policy) {
  const auto& [counts, in_flight, begin] = stage;
  const ModeCounts all = AllRecomputed(profile, counts);
  if (policy == RecomputePolicy::kForbidden) return ModeCounts{};
  if (policy == RecomputePolicy::kFull || policy == RecomputePolicy::kAdaptive) return all;
  if (policy == RecomputePolicy::kOneSetting && profile.setting)
    return RecomputedUnderSetting(profile, counts, begin);
  // Under each limit of the workspace, all layers of a kind are best in the mode that keeps least.
  std::vector<int64_t> limits{std::numeric_limits<int64_t>::max()};
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    if (counts[k] == 0) continue;
    for (const RecomputeMode& mode : profile.classes[k].modes)
      limits.push_back(mode.workspace_bytes);
  }
  ModeCounts best{};
  int64_t least = MemoryOf(profile, counts, best, in_flight).allocated();
  for (const int64_t limit : limits) {
    ModeCounts recomputed{};
    for (size_t k = 0; k < profile.classes.size(); ++k) {
      const LayerCost& layer = profile.classes[k];
      size_t mode = 0;
      for (size_t q = 1; q < layer.modes.size(); ++q) {
        if (ModeAllowed(layer, q, policy) && layer.modes[q].workspace_bytes <= limit &&
            (layer.modes[mode].workspace_bytes > limit ||
             layer.modes[q].kept_bytes < layer.modes[mode].kept_bytes))
          mode = q;
      }
      if (mode > 0) recomputed[k][mode] = counts[k];
    }
    const int64_t allocated = MemoryOf(profile, counts, recomputed, in_flight).allocated();
    if (allocated < least) least = allocated, best = recomputed;
  }
  return best;
}

int64_t LeastAllocated(const LayerProfile& profile, const ChunkLoad& stage,
                       RecomputePolicy policy) {
  const ModeCounts recomputed = SmallestRecompute(profile, stage, policy);
  return MemoryOf(profile, stage.counts, recomputed, stage.in_flight).allocated() +
         (HostHasRoom(profile, stage) ? 0 : kNoHostRoom);
}

}  // namespace evenkeel::planner
