#include "planner/recompute/adaptive_recompute.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace evenkeel::planner {
namespace {

constexpr int32_t kProbedLayers = 2;  // the publication says "a few"

}  // namespace

std::optional<ChunkedRecompute> AdaptiveRecompute(const LayerProfile& profile,
                                                  std::span<const ChunkLoad> chunks,
                                                  int64_t allocatable) {
  std::vector<ModeCounts> recomputed;
  for (const ChunkLoad& chunk : chunks) recomputed.push_back(AllRecomputed(profile, chunk.counts));
  const auto free = [&] { return allocatable - MemoryOf(profile, chunks, recomputed).allocated(); };
  if (free() < 0) return std::nullopt;
  std::vector<int32_t*> stopped;  // the count from which each layer was taken
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (size_t k = 0; k < profile.classes.size(); ++k) {
      if (!profile.classes[k].recomputable() || chunks[c].counts[k] == 0) continue;
      int32_t& layers = recomputed[c][k][profile.classes[k].modes.size() - 1];
      // If there are several, at least one layer still recomputes, so that the probe sees no change
      // of the workspace.
      const int32_t probed = std::min(kProbedLayers, std::max(1, layers - 1));
      const int64_t before = free();
      layers -= probed;
      const int64_t per_layer = (before - free()) / probed;
      layers += probed;
      const int64_t most = per_layer <= 0 ? layers : std::max<int64_t>(0, before / per_layer);
      const auto stop = static_cast<int32_t>(std::min<int64_t>(layers, most));
      layers -= stop;
      stopped.insert(stopped.end(), static_cast<size_t>(stop), &layers);
    }
  }
  for (; free() < 0; stopped.pop_back()) ++*stopped.back();
  ChunkedRecompute choice{.recomputed = std::move(recomputed)};
  for (const ModeCounts& counts : choice.recomputed)
    choice.recompute_ns += RepeatedTime(profile, counts);
  return choice;
}

}  // namespace evenkeel::planner
