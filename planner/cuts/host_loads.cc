#include "planner/cuts/host_loads.h"

#include "planner/simulate/held_passes.h"

namespace evenkeel::planner {

void CountOnHost(const LayerProfile& profile, const std::vector<std::vector<int64_t>>& peaks,
                 std::span<ChunkLoad> chunks) {
  std::vector<int64_t> of_pack;  // bytes in host memory, by chunk
  for (ChunkLoad& chunk : chunks) {
    chunk.on_host = 1;
    of_pack.push_back(OffloadedActivations(profile, {&chunk, 1}));
  }
  const std::vector<int64_t>& held = FullestMoment(peaks, of_pack);
  for (size_t c = 0; c < chunks.size(); ++c) chunks[c].on_host = held[c];
}

std::vector<ChunkLoad> HostLoads(const LayerProfile& profile, const Candidate& c, int64_t stage) {
  std::vector<ChunkLoad> loads;
  for (int64_t chunk = 0; chunk < c.parallelism.virtual_stages; ++chunk) {
    const int64_t segment = c.shape().virtual_stage(stage, chunk);
    loads.push_back({.counts = c.segments[static_cast<size_t>(segment)].counts});
  }
  CountOnHost(profile, PeaksHeld(c.shape(), stage), loads);
  return loads;
}

}  // namespace evenkeel::planner
