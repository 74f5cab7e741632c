#include "planner/cost/host_memory.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/layer_cost.h"
#include "planner/cost/memory.h"
#include "planner/hardware/hosts.h"
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

// Share of the usual host's memory that is left to the job: the system, its page cache.
constexpr double kMemoryShare = 0.9;
// Share of its nominal rate that a link reaches with pinned memory: 25 GB/s of PCIe Gen4 x16.
constexpr double kLinkShare = 0.8;

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
                        const PackShape& largest, int64_t offloaded_bytes) {
  const double ahead = D(ranks) * kWorkers * kPacksAhead * PackBytes(job.model, largest);
  HostMemory memory;
  memory.processes = ranks * kProcessBytes;
  memory.checkpoint = CappedProduct(state_bytes, ranks);
  memory.offloaded = CappedProduct(offloaded_bytes, ranks);
  memory.shared_memory = Nearest(std::min(ahead, 1e15)) + ranks * kNcclSharedBytes;
  memory.data_loading = Nearest(std::min(kCopies * ahead, 1e15));
  return memory;
}

Host HostOf(const Cluster& cluster) {
  const HostRecord& usual = UsualHost(cluster.gpu);
  const double gpus = D(cluster.gpus_per_node);
  const double link = usual.link_bytes_per_second > 0 ? usual.link_bytes_per_second
                                                      : cluster.gpu.pcie_bytes_per_second;
  Host host{.memory_bytes = cluster.host_memory_bytes,
            .memory_bytes_per_second = cluster.host_memory_bytes_per_second,
            .link_bytes_per_second = cluster.host_link_bytes_per_second};
  if (host.memory_bytes == 0)
    host.memory_bytes = Nearest(kMemoryShare * gpus * D(usual.memory_bytes));
  if (host.memory_bytes_per_second == 0)
    host.memory_bytes_per_second = gpus * usual.memory_bytes_per_second;
  if (host.link_bytes_per_second == 0) host.link_bytes_per_second = kLinkShare * link;
  return host;
}

bool HostBinds(const Job& job) {
  return job.training.offload.charged_ratio > 0 || job.training.activations.charged_layers > 0 ||
         job.training.activations.charged_modules != 0 || job.cluster.host_memory_bytes > 0;
}

int64_t HostRoom(const Job& job, const PackShape& largest) {
  if (!HostBinds(job)) return kNoHostLimit;
  const int64_t ranks = job.cluster.gpus_per_node;
  const int64_t others = HostMemoryOf(job, ranks, 0, largest).total();
  const int64_t left = HostOf(job.cluster).memory_bytes - others;
  return left >= 0 ? left / ranks : -CeilDivide(-left, ranks);
}

double HostCopyRate(const Cluster& cluster) {
  const Host host = HostOf(cluster);
  return std::min(host.link_bytes_per_second,
                  host.memory_bytes_per_second / D(cluster.gpus_per_node));
}

double HostToDeviceTime(const Job& job, double parameters) {
  if (!job.training.offload.weights) return 0;
  const Execution& e = job.training.execution;
  const double bytes = e.casts_master_weights ? 4 : HeldWeightBytes(e);
  return 1e9 * parameters * bytes / HostCopyRate(job.cluster);
}

double DeviceToHostTime(const Job& job, double parameters) {
  if (!job.training.offload.weights) return 0;
  const double bytes = job.training.distributed_gradients_fp32 ? 4 : 2;
  return 1e9 * parameters * bytes / HostCopyRate(job.cluster);
}

double HostUpdateTime(const Job& job, double parameters) {
  if (parameters <= 0) return 0;
  const Host host = HostOf(job.cluster);
  const double rate =
      kHostUpdateShare * host.memory_bytes_per_second / D(job.cluster.gpus_per_node);
  const double gradient = job.training.distributed_gradients_fp32 ? 4 : 2;
  const double device_to_host = parameters * gradient / host.link_bytes_per_second;
  const double host_to_device =
      parameters * HeldWeightBytes(job.training.execution) / host.link_bytes_per_second;
  const double update = parameters * RecordOf(job.training.optimizer).moved_bytes / rate;
  if (job.training.offload.weights) return 1e9 * update;
  return 1e9 * (job.training.trainer->offload.overlaps
                    ? std::max({device_to_host, update, host_to_device})
                    : device_to_host + update + host_to_device);
}

}  // namespace evenkeel::planner
