// Memory and repeated time of a stage under a given recompute: sums over its layers.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_STAGE_MEMORY_H_
#define EVENKEEL_PLANNER_RECOMPUTE_STAGE_MEMORY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "planner/cost/layer_profile.h"

namespace evenkeel::planner {

// Layers of each class on a stage, indexed as LayerProfile::classes.
using ClassCounts = std::array<int64_t, kLayerClassesAtMost>;

// The number of layers of each class in each of its modes (LayerCost::modes). Entry 0 of a class is
// unused, because layers in no other mode recompute nothing.
using ModeCounts = std::array<std::array<int32_t, kModesAtMost>, kLayerClassesAtMost>;

// Layers of one chunk of a stage, and the packs whose activations it holds at once. A stage without
// virtual stages is one chunk.
struct ChunkLoad {
  ClassCounts counts{};
  int64_t in_flight = 0;
  int64_t begin = 0;  // chain position of its first layer
  // Packs whose activations are in host memory when the stage has most of them there. That may be
  // another moment than that of `in_flight` if the stage has several chunks. Unset: `in_flight`.
  std::optional<int64_t> on_host = std::nullopt;
};

// The activations of all packs in flight are capped at 2^60 bytes per stage and 2^50 bytes per
// layer: no GPU has as much memory (the contract ends at 2^42 bytes), and GPipe with ten million
// packs would exceed 64 bits.
inline constexpr int64_t kActivationBytesAtMost = int64_t{1} << 60;
inline constexpr int64_t kHeldBytesAtMost = int64_t{1} << 50;

// Returns the bytes that one layer holds of `in_flight` packs, under that cap. REQUIRES: both
// arguments >= 0.
inline int64_t HeldBytes(int64_t in_flight, int64_t kept_bytes) {
  return in_flight == 0 || kept_bytes <= kHeldBytesAtMost / in_flight ? in_flight * kept_bytes
                                                                      : kHeldBytesAtMost;
}

// Added to the memory of a stage if the host lacks room for its share, so that it fits on no GPU.
inline constexpr int64_t kNoHostRoom = int64_t{1} << 59;

// Bytes that the layers of a stage hold when its activations are gone: gradients that the backward
// pass made, and the workspace of its last layer or of the optimizer's step.
struct EndBytes {
  int64_t made = 0, update = 0, workspace = 0;

  void Add(const LayerCost& layer, int64_t layers) {
    made += layers * layer.made_bytes;
    update += layers * layer.update_bytes;
    if (layers > 0) workspace = std::max(workspace, layer.end_workspace_bytes);
  }
  int64_t total() const { return made + std::max(update, workspace); }
};

struct StageBytes {
  int64_t static_bytes = 0;
  int64_t activation_bytes = 0;       // of all packs in flight, with `gradient_excess_bytes`
  int64_t gradient_excess_bytes = 0;  // RecomputeMode::gradient_excess_bytes of all layers
  int64_t workspace_bytes = 0;        // while a layer runs backward
  // EndBytes beyond activations and workspace, whose memory they reuse.
  int64_t end_bytes = 0;
  int64_t at_end = 0;  // EndBytes::total()
  int64_t kept_activation_bytes() const { return activation_bytes - gradient_excess_bytes; }
  int64_t allocated() const {
    return static_bytes + activation_bytes + workspace_bytes + end_bytes;
  }
  void SetEnd(const EndBytes& end) {
    at_end = end.total();
    end_bytes = std::max<int64_t>(0, at_end - activation_bytes - workspace_bytes);
  }
};

// Returns the memory of a stage whose chunk c recomputes recomputed[c]. The memory of chunks adds
// up, except for the workspace, which they use in turn. REQUIRES: chunks and recomputed have the
// same size.
StageBytes MemoryOf(const LayerProfile& profile, std::span<const ChunkLoad> chunks,
                    std::span<const ModeCounts> recomputed);

// Returns the bytes of activations that one GPU of a stage has in host memory.
int64_t OffloadedActivations(const LayerProfile& profile, std::span<const ChunkLoad> chunks);

// Returns the bytes of host memory that one GPU of a stage takes above its room; 0 if there is
// room.
int64_t HostExcess(const LayerProfile& profile, std::span<const ChunkLoad> chunks);

inline bool HostHasRoom(const LayerProfile& profile, std::span<const ChunkLoad> chunks) {
  return profile.host_room == kNoHostLimit || HostExcess(profile, chunks) == 0;
}
inline bool HostHasRoom(const LayerProfile& profile, const ChunkLoad& chunk) {
  return HostHasRoom(profile, {&chunk, 1});
}

// Returns the memory of a stage of one chunk.
StageBytes MemoryOf(const LayerProfile& profile, const ClassCounts& counts,
                    const ModeCounts& recomputed, int64_t in_flight);

// Returns the forward work that the backward pass of one mean pack repeats, in ns.
int64_t RepeatedTime(const LayerProfile& profile, const ModeCounts& recomputed);

// Returns full recompute of every recomputable layer.
ModeCounts AllRecomputed(const LayerProfile& profile, const ClassCounts& counts);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_STAGE_MEMORY_H_
