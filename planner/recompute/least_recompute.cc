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

// Adds up the memory of layers in given modes, as MemoryOf does.
struct MemorySum {
  int64_t states = 0, kept = 0, workspace = 0;
  EndBytes end;

  void Add(const LayerCost& layer, int64_t layers) {
    states += layers * layer.static_bytes();
    end.Add(layer, layers);
  }
  void AddKept(const RecomputeMode& mode, int64_t layers, int64_t in_flight) {
    if (layers == 0) return;
    kept = std::min(kActivationBytesAtMost, kept + layers * HeldBytes(in_flight, mode.kept_bytes));
    workspace = std::max(workspace, mode.workspace_bytes);
  }
  int64_t allocated() const { return states + std::max(kept + workspace, end.total()); }
};

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

// The workspace is the largest of all layers' workspaces, so there is one knapsack for each size it
// can have, over the modes that need no more.
class RecomputeChooser::Choosing {
 public:
  Choosing(RecomputeChooser& chooser, std::span<const ChunkLoad> chunks)
      : chooser_(chooser), chunks_(chunks) {
    // Later kinds come first, because they are preferred if times tie.
    for (size_t k = chooser.profile_.classes.size(); k-- > 0;) {
      for (size_t c = 0; c < chunks.size(); ++c) {
        if (chunks[c].counts[k] == 0) continue;
        runs_.push_back({c, k});
        static_bytes_ += chunks[c].counts[k] * chooser.profile_.classes[k].static_bytes();
        present_ |= uint32_t{1} << k;
      }
    }
  }

  // Returns the solution of least time; without layers, if none fits.
  const ModeKnapsack::Solution& Solve() {
    for (const int64_t workspace : chooser_.WorkspacesOf(present_))
      if (!Try(workspace)) break;
    return best_;
  }

  std::optional<ChunkedRecompute> Least() {
    if (Solve().layers.empty()) return std::nullopt;
    ChunkedRecompute choice{.recomputed = std::vector<ModeCounts>(chunks_.size()),
                            .recompute_ns = best_.time_ns,
                            .undecided_ns = best_.undecided_ns()};
    for (size_t g = 0; g < runs_.size(); ++g) {
      const auto [chunk, kind] = runs_[g];
      const std::vector<size_t>& modes = best_kinds_[g]->modes;
      for (size_t i = 0; i < modes.size(); ++i) {
        if (modes[i] > 0) choice.recomputed[chunk][kind][modes[i]] = best_.layers[g][i];
      }
    }
    return choice;
  }

 private:
  // The layers of one kind in one chunk.
  struct Run {
    size_t chunk = 0, kind = 0;
  };

  // Returns false if no smaller workspace can do better.
  bool Try(int64_t workspace) {
    std::vector<const Kind*> kinds;
    std::vector<ModeKnapsack::Group> groups;
    int64_t quickest = 0;
    for (const auto& [chunk, kind] : runs_) {
      const ChunkLoad& load = chunks_[chunk];
      kinds.push_back(&chooser_.KindOf(kind, load.in_flight, workspace));
      groups.push_back({load.counts[kind], &kinds.back()->kind});
      quickest += load.counts[kind] * kinds.back()->kind.quickest_ns();
    }
    if (quickest > best_.time_ns) return false;
    if (ModeKnapsack(groups).Improve(chooser_.allocatable_ - static_bytes_ - workspace, &best_))
      best_kinds_ = std::move(kinds);
    return best_.time_ns > 0 || best_.counted > 0;
  }

  RecomputeChooser& chooser_;
  const std::span<const ChunkLoad> chunks_;
  std::vector<Run> runs_;
  uint32_t present_ = 0;  // classes
  int64_t static_bytes_ = 0;
  ModeKnapsack::Solution best_{.time_ns = std::numeric_limits<int64_t>::max(),
                               .counted = std::numeric_limits<int64_t>::max()};
  std::vector<const Kind*> best_kinds_;  // by run
};

RecomputeChooser::RecomputeChooser(const LayerProfile& profile, int64_t allocatable,
                                   RecomputePolicy policy)
    : profile_(profile),
      allocatable_(allocatable),
      policy_(policy),
      depends_on_place_(DependsOnPlace(profile)) {
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    const LayerCost& layer = profile.classes[k];
    if (profile.setting) classes_[k].set_mode = *ModeUnder(*profile.setting, layer);
    int64_t kept = layer.modes.front().kept_bytes, workspace = layer.modes.front().workspace_bytes;
    for (size_t q = 1; q < layer.modes.size(); ++q) {
      if (!ModeAllowed(layer, q, policy)) continue;
      kept = std::min(kept, layer.modes[q].kept_bytes);
      workspace = std::min(workspace, layer.modes[q].workspace_bytes);
    }
    classes_[k].least_kept = kept, classes_[k].least_workspace = workspace;
  }
}

bool RecomputeChooser::Chooses() const {
  return policy_ == RecomputePolicy::kAuto || policy_ == RecomputePolicy::kWholeLayers ||
         (policy_ == RecomputePolicy::kOneSetting && !profile_.setting);
}

bool RecomputeChooser::FitsUnrecomputed(const ChunkLoad& stage) const {
  MemorySum sum;
  for (size_t k = 0; k < profile_.classes.size(); ++k) {
    if (stage.counts[k] == 0) continue;
    sum.Add(profile_.classes[k], stage.counts[k]);
    sum.AddKept(profile_.classes[k].modes.front(), stage.counts[k], stage.in_flight);
  }
  return sum.allocated() <= allocatable_;
}

// Returns a lower bound on the bytes that any choice allocates, to reject most misfits quickly.
int64_t RecomputeChooser::AllocatedAtLeast(std::span<const ChunkLoad> chunks) const {
  int64_t states = 0, kept_bytes = 0, workspace = 0;
  EndBytes end;
  for (const ChunkLoad& chunk : chunks) {
    for (size_t k = 0; k < profile_.classes.size(); ++k) {
      const int64_t layers = chunk.counts[k];
      if (layers == 0) continue;
      states += layers * profile_.classes[k].static_bytes();
      end.Add(profile_.classes[k], layers);
      kept_bytes += layers * HeldBytes(chunk.in_flight, classes_[k].least_kept);
      workspace = std::max(workspace, classes_[k].least_workspace);
    }
  }
  return states + std::max(kept_bytes + workspace, end.total());
}

// Returns the ns that the stage repeats under the profile's setting, or nullopt if it does not fit.
std::optional<int64_t> RecomputeChooser::TimeUnderSetting(const ChunkLoad& stage) const {
  if (depends_on_place_) {
    const ModeCounts set = RecomputedUnderSetting(profile_, stage.counts, stage.begin);
    if (MemoryOf(profile_, {&stage, 1}, {&set, 1}).allocated() > allocatable_) return std::nullopt;
    return RepeatedTime(profile_, set);
  }
  MemorySum sum;
  int64_t time_ns = 0;
  int64_t left =
      profile_.setting->block > 0 ? profile_.setting->block : RecomputeSetting::kEveryLayer;
  for (size_t k = 0; k < profile_.classes.size(); ++k) {
    const int64_t layers = stage.counts[k];
    if (layers == 0) continue;
    const LayerCost& layer = profile_.classes[k];
    const size_t mode = classes_[k].set_mode;
    int64_t recomputed = 0;
    if (mode > 0 && layer.kind == LayerKind::kEncoder) {
      recomputed = layers;
    } else if (mode > 0) {
      recomputed = std::min(left, layers);
      left -= recomputed;
    }
    sum.Add(layer, layers);
    sum.AddKept(layer.modes[mode], recomputed, stage.in_flight);
    sum.AddKept(layer.modes.front(), layers - recomputed, stage.in_flight);
    time_ns += recomputed * layer.modes[mode].repeated_ns;
  }
  if (sum.allocated() > allocatable_) return std::nullopt;
  return time_ns;
}

const RecomputeChooser::Kind& RecomputeChooser::KindOf(size_t k, int64_t in_flight,
                                                       int64_t workspace) {
  const LayerCost& layer = profile_.classes[k];
  uint32_t allowed = 0;
  for (size_t q = 0; q < layer.modes.size(); ++q) {
    if (ModeAllowed(layer, q, policy_) && layer.modes[q].workspace_bytes <= workspace)
      allowed |= uint32_t{1} << q;
  }
  const std::tuple key(k, in_flight, allowed);
  if (const auto known = kinds_.find(key); known != kinds_.end()) return known->second;
  std::vector<size_t> modes;
  std::vector<ModeKnapsack::Mode> prepared;
  for (size_t q = 0; q < layer.modes.size(); ++q) {
    if ((allowed >> q & 1) == 0) continue;
    const RecomputeMode& mode = layer.modes[q];
    modes.push_back(q);
    prepared.push_back(
        {q == 0 ? 0 : mode.repeated_ns, HeldBytes(in_flight, mode.kept_bytes), q > 0});
  }
  return kinds_.emplace(key, Kind{std::move(modes), ModeKnapsack::Kind(prepared)}).first->second;
}

const std::vector<int64_t>& RecomputeChooser::WorkspacesOf(uint32_t kinds) {
  const auto [at, added] = workspaces_.try_emplace(kinds);
  std::vector<int64_t>& workspaces = at->second;
  if (!added) return workspaces;
  int64_t least = 0;  // that every choice needs
  for (size_t k = 0; k < profile_.classes.size(); ++k) {
    if ((kinds >> k & 1) == 0) continue;
    const LayerCost& layer = profile_.classes[k];
    least = std::max(least, classes_[k].least_workspace);
    for (size_t q = 0; q < layer.modes.size(); ++q)
      if (ModeAllowed(layer, q, policy_)) workspaces.push_back(layer.modes[q].workspace_bytes);
  }
  std::erase_if(workspaces, [&](int64_t workspace) { return workspace < least; });
  std::sort(workspaces.begin(), workspaces.end(), std::greater<>());
  workspaces.erase(std::unique(workspaces.begin(), workspaces.end()), workspaces.end());
  return workspaces;
}

std::optional<ChunkedRecompute> RecomputeChooser::Least(std::span<const ChunkLoad> chunks) {
  if (!HostHasRoom(profile_, chunks)) return std::nullopt;
  const auto nothing = [](const ChunkLoad&) { return ModeCounts{}; };
  const auto all = [&](const ChunkLoad& chunk) { return AllRecomputed(profile_, chunk.counts); };
  const auto set = [&](const ChunkLoad& chunk) {
    return RecomputedUnderSetting(profile_, chunk.counts, chunk.begin);
  };
  switch (policy_) {
    case RecomputePolicy::kFull:
      return Given(profile_, chunks, allocatable_, all);
    case RecomputePolicy::kForbidden:
      return Given(profile_, chunks, allocatable_, nothing);
    case RecomputePolicy::kAdaptive:
      return AdaptiveRecompute(profile_, chunks, allocatable_);
    case RecomputePolicy::kOneSetting:
      if (profile_.setting) return Given(profile_, chunks, allocatable_, set);
      break;
    case RecomputePolicy::kAuto:
    case RecomputePolicy::kWholeLayers:
      break;
  }
  if (AllocatedAtLeast(chunks) > allocatable_) return std::nullopt;
  if (auto none = Given(profile_, chunks, allocatable_, nothing)) return none;
  return Choosing(*this, chunks).Least();
}

std::optional<RecomputeChoice> RecomputeChooser::Least(const ChunkLoad& stage) {
  // Fast path: most stages fit without recompute and skip the multi-chunk search.
  if (Chooses() && HostHasRoom(profile_, stage) && FitsUnrecomputed(stage))
    return RecomputeChoice{};
  const auto choice = Least(std::span(&stage, 1));
  if (!choice) return std::nullopt;
  return RecomputeChoice{choice->recomputed.front(), choice->recompute_ns, choice->undecided_ns};
}

std::optional<int64_t> RecomputeChooser::LeastTime(const ChunkLoad& stage) {
  if (!HostHasRoom(profile_, stage)) return std::nullopt;
  if (policy_ == RecomputePolicy::kOneSetting && profile_.setting) return TimeUnderSetting(stage);
  if (!Chooses()) {
    const auto choice = Least(stage);
    return choice ? std::optional(choice->recompute_ns - choice->undecided_ns) : std::nullopt;
  }
  if (FitsUnrecomputed(stage)) return 0;
  if (AllocatedAtLeast({&stage, 1}) > allocatable_) return std::nullopt;
  Choosing choosing(*this, {&stage, 1});
  const ModeKnapsack::Solution& best = choosing.Solve();
  return best.layers.empty() ? std::nullopt : std::optional(best.time_ns - best.undecided_ns());
}

std::optional<ChunkedRecompute> LeastRecompute(const LayerProfile& profile,
                                               std::span<const ChunkLoad> chunks,
                                               int64_t allocatable, RecomputePolicy policy) {
  return RecomputeChooser(profile, allocatable, policy).Least(chunks);
}

std::optional<RecomputeChoice> LeastRecompute(const LayerProfile& profile, const ChunkLoad& stage,
                                              int64_t allocatable, RecomputePolicy policy) {
  return RecomputeChooser(profile, allocatable, policy).Least(stage);
}

ModeCounts SmallestRecompute(const LayerProfile& profile, const ChunkLoad& stage,
                             RecomputePolicy policy) {
  const ClassCounts& counts = stage.counts;
  const int64_t in_flight = stage.in_flight;
  const ModeCounts all = AllRecomputed(profile, counts);
  if (policy == RecomputePolicy::kForbidden) return ModeCounts{};
  if (policy == RecomputePolicy::kFull || policy == RecomputePolicy::kAdaptive) return all;
  if (policy == RecomputePolicy::kOneSetting && profile.setting)
    return RecomputedUnderSetting(profile, counts, stage.begin);
  // Under each limit of the workspace, all layers of a class are best in the mode that keeps least.
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
