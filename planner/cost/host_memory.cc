#include "planner/cost/host_memory.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/model/audio_front.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kProcessBytes = 6 * kGiB;
// Per process: NCCL's share of the 1 GiB of /dev/shm that containers of eight GPUs are given.
constexpr int64_t kNcclSharedBytes = kGiB / 8;
constexpr double kWorkers = 4;      // per rank's data loader
constexpr double kPacksAhead = 2;   // packs that each worker holds ready
constexpr double kTokenBytes = 32;  // ids, labels, loss mask and positions of 8 bytes
constexpr double kPixelBytes = 12;  // three colours in fp32
constexpr double kValueBytesFp32 = 4;
constexpr double kCopies = 2;  // decoded, and packed

double PackBytes(const ModelSpec& model, const PackShape& pack) {
  double bytes = pack.tokens * kTokenBytes;
  for (size_t i = 0; i < model.towers.size(); ++i) {
    const Encoder& e = model.towers[i].encoder;
    if (e.modality == Modality::kAudio) {
      bytes += pack.units[i] * D(e.tokens_per_unit * SpectraPerToken(e.front) * e.front.mel_bins) *
               kValueBytesFp32;
      continue;
    }
    const double patches = D(std::max<int64_t>(0, e.tokens_per_unit - e.class_tokens));
    const double pixels = D(e.patch_pixels) * D(e.patch_pixels) * D(e.temporal_patch);
    bytes += pack.units[i] * patches * pixels * kPixelBytes;
  }
  return bytes;
}

}  // namespace

HostMemory HostMemoryOf(const Job& job, int64_t ranks, int64_t state_bytes,
                        const PackShape& largest) {
  const double ahead = D(ranks) * kWorkers * kPacksAhead * PackBytes(job.model, largest);
  HostMemory memory;
  memory.processes = ranks * kProcessBytes;
  memory.checkpoint = CappedProduct(state_bytes, ranks);
  memory.shared_memory = Nearest(std::min(ahead, 1e15)) + ranks * kNcclSharedBytes;
  memory.data_loading = Nearest(std::min(kCopies * ahead, 1e15));
  return memory;
}

}  // namespace evenkeel::planner
