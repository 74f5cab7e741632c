// What a stage holds in memory and repeats in time under a given recompute: sums over its layers.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_STAGE_MEMORY_H_
#define EVENKEEL_PLANNER_RECOMPUTE_STAGE_MEMORY_H_

#include <array>
#include <cstdint>
#include <span>

#include "planner/cost/layer_profile.h"

namespace evenkeel::planner {

// Layers of each kind on a stage: index as LayerProfile::kinds. A profile has at most one entry per
// LayerKind.
using KindCounts = std::array<int64_t, kLayerKinds>;

// Layers of each kind in each of its modes (LayerCost::modes). Entry 0 of a kind is not used: what
// no other mode has recomputes nothing.
using ModeCounts = std::array<std::array<int64_t, kModesAtMost>, kLayerKinds>;

// Layers of one chunk of a stage, and the packs whose activations it holds at once. A stage without
// virtual stages is one chunk.
struct ChunkLoad {
  KindCounts counts{};
  int64_t in_flight = 0;
};

// What one layer holds of all packs in flight counts for no more than 2^50 bytes, what a stage
// holds of them for no more than 2^60: no GPU has as much memory (the contract ends at 2^42 bytes),
// and GPipe of ten million packs would exceed 64 bits.
inline constexpr int64_t kActivationBytesAtMost = int64_t{1} << 60;
inline constexpr int64_t kHeldBytesAtMost = int64_t{1} << 50;

// What one layer holds of so many packs, under that limit. REQUIRES both >= 0.
inline int64_t HeldBytes(int64_t in_flight, int64_t kept_bytes) {
  return in_flight == 0 || kept_bytes <= kHeldBytesAtMost / in_flight ? in_flight * kept_bytes
                                                                      : kHeldBytesAtMost;
}

struct StageBytes {
  int64_t static_bytes = 0;
  int64_t activation_bytes = 0;  // of all packs in flight
  int64_t workspace_bytes = 0;
  int64_t allocated() const { return static_bytes + activation_bytes + workspace_bytes; }
};

// Memory of a stage whose chunk c runs recomputed[c]: chunks add up, but for the workspace, which
// they take in turn. REQUIRES as many of both.
StageBytes MemoryOf(const LayerProfile& profile, std::span<const ChunkLoad> chunks,
                    std::span<const ModeCounts> recomputed);

// Likewise of a stage of one chunk.
StageBytes MemoryOf(const LayerProfile& profile, const KindCounts& counts,
                    const ModeCounts& recomputed, int64_t in_flight);

// Forward work that the backward pass of one mean pack repeats, ns.
int64_t RepeatedTime(const LayerProfile& profile, const ModeCounts& recomputed);

// Layers that repeat anything.
int64_t RecomputedLayerCount(const ModeCounts& recomputed);

// Every recomputable layer, all of it.
ModeCounts AllRecomputed(const LayerProfile& profile, const KindCounts& counts);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_STAGE_MEMORY_H_
