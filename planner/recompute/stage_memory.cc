#include "planner/recompute/stage_memory.h"

#include <algorithm>

namespace evenkeel::planner {

StageBytes MemoryOf(const LayerProfile& profile, std::span<const ChunkLoad> chunks,
                    std::span<const ModeCounts> recomputed) {
  StageBytes memory;
  EndBytes end;
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (size_t k = 0; k < profile.classes.size(); ++k) {
      int64_t left = chunks[c].counts[k];
      if (left == 0) continue;
      const LayerCost& layer = profile.classes[k];
      memory.static_bytes += left * layer.static_bytes();
      end.Add(layer, left);
      for (size_t q = layer.modes.size(); q-- > 0;) {
        const int64_t layers = q == 0 ? left : recomputed[c][k][q];
        if (layers == 0) continue;
        left -= layers;
        memory.activation_bytes =
            std::min(kActivationBytesAtMost,
                     memory.activation_bytes +
                         layers * HeldBytes(chunks[c].in_flight, layer.modes[q].kept_bytes));
        memory.gradient_excess_bytes +=
            layers * HeldBytes(chunks[c].in_flight, layer.modes[q].gradient_excess_bytes);
        memory.workspace_bytes = std::max(memory.workspace_bytes, layer.modes[q].workspace_bytes);
      }
    }
  }
  memory.SetEnd(end);
  return memory;
}

int64_t OffloadedActivations(const LayerProfile& profile, std::span<const ChunkLoad> chunks) {
  int64_t bytes = 0;
  for (const ChunkLoad& chunk : chunks) {
    const int64_t packs = chunk.on_host.value_or(chunk.in_flight);
    for (size_t k = 0; k < profile.classes.size(); ++k)
      bytes += chunk.counts[k] * HeldBytes(packs, profile.classes[k].host_kept_bytes);
  }
  return bytes;
}

int64_t HostExcess(const LayerProfile& profile, std::span<const ChunkLoad> chunks) {
  if (profile.host_room == kNoHostLimit) return 0;
  int64_t bytes = OffloadedActivations(profile, chunks);
  for (const ChunkLoad& chunk : chunks) {
    for (size_t k = 0; k < profile.classes.size(); ++k)
      bytes += chunk.counts[k] * profile.classes[k].host_bytes;
  }
  return std::max<int64_t>(0, bytes - profile.host_room);
}

StageBytes MemoryOf(const LayerProfile& profile, const ClassCounts& counts,
                    const ModeCounts& recomputed, int64_t in_flight) {
  const ChunkLoad chunk{counts, in_flight};
  return MemoryOf(profile, {&chunk, 1}, {&recomputed, 1});
}

int64_t RepeatedTime(const LayerProfile& profile, const ModeCounts& recomputed) {
  int64_t ns = 0;
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    const std::vector<RecomputeMode>& modes = profile.classes[k].modes;
    for (size_t q = 1; q < modes.size(); ++q) ns += recomputed[k][q] * modes[q].repeated_ns;
  }
  return ns;
}

ModeCounts AllRecomputed(const LayerProfile& profile, const ClassCounts& counts) {
  ModeCounts all{};
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    if (profile.classes[k].recomputable()) all[k][profile.classes[k].modes.size() - 1] = counts[k];
  }
  return all;
}

}  // namespace evenkeel::planner
