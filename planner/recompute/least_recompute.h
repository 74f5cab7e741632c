// Decides what one stage recomputes: the cheapest set of layers, and of their parts, with which it
// fits in memory. Exact unless the work runs out (RecomputeChoice::undecided_ns).
#ifndef EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_
#define EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/recompute/mode_knapsack.h"
#include "planner/recompute/recompute_choice.h"
#include "planner/recompute/stage_memory.h"

namespace evenkeel::planner {

// Under kAuto, returns the choice of least recompute time whose memory is at most `allocatable`
// bytes; under kWholeLayers, the best of the choices that recompute all of a layer or nothing. Ties
// go to fewer recomputed layers, then to the later kind. kForbidden and kFull leave one choice, and
// so does kOneSetting if the profile has a setting; without one, it is kAuto. kAdaptive is
// AdaptiveRecompute. Returns nullopt if nothing that the policy allows fits.
std::optional<RecomputeChoice> LeastRecompute(const LayerProfile& profile, const ChunkLoad& stage,
                                              int64_t allocatable, RecomputePolicy policy);
std::optional<ChunkedRecompute> LeastRecompute(const LayerProfile& profile,
                                               std::span<const ChunkLoad> chunks,
                                               int64_t allocatable, RecomputePolicy policy);

// LeastRecompute for many stages. It prepares a profile's layers once for all of them. Not
// thread-safe.
class RecomputeChooser {
 public:
  // The profile must outlive it.
  RecomputeChooser(const LayerProfile& profile, int64_t allocatable, RecomputePolicy policy);

  std::optional<RecomputeChoice> Least(const ChunkLoad& stage);
  std::optional<ChunkedRecompute> Least(std::span<const ChunkLoad> chunks);
  // Returns recompute_ns - undecided_ns of Least(stage).
  std::optional<int64_t> LeastTime(const ChunkLoad& stage);

 private:
  // A kind of layers in the modes that the policy and a limit of the workspace allow.
  struct Kind {
    std::vector<size_t> modes;
    ModeKnapsack::Kind kind;
  };
  class Choosing;

  // Returns whether the recompute of each stage is chosen.
  bool Chooses() const;
  bool FitsUnrecomputed(const ChunkLoad& stage) const;
  int64_t AllocatedAtLeast(std::span<const ChunkLoad> chunks) const;
  std::optional<int64_t> TimeUnderSetting(const ChunkLoad& stage) const;
  const Kind& KindOf(size_t k, int64_t in_flight, int64_t workspace);
  const std::vector<int64_t>& WorkspacesOf(uint32_t kinds);

  const LayerProfile& profile_;
  const int64_t allocatable_;
  const RecomputePolicy policy_;
  const bool depends_on_place_;  // true if recompute depends on a chunk's place in the chain
  struct Class {
    size_t set_mode = 0;  // under the profile's setting
    // The least of all allowed modes.
    int64_t least_kept = 0, least_workspace = 0;
  };
  std::array<Class, kLayerClassesAtMost> classes_{};
  // By class, packs in flight, and the set of allowed modes.
  std::map<std::tuple<size_t, int64_t, uint32_t>, Kind> kinds_;
  // By the set of classes on a stage: the workspaces that it can have, largest first.
  std::map<uint32_t, std::vector<int64_t>> workspaces_;
};

// Return the recompute with which the stage needs the least memory under the policy, and that
// memory in bytes.
ModeCounts SmallestRecompute(const LayerProfile& profile, const ChunkLoad& stage,
                             RecomputePolicy policy);
int64_t LeastAllocated(const LayerProfile& profile, const ChunkLoad& stage, RecomputePolicy policy);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_
