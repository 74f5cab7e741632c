#include "planner/hardware/hosts.h"

#include <algorithm>

#include "planner/base/units.h"

namespace evenkeel::planner {
namespace {

const std::vector<HostRecord>& Hosts() {
  static const std::vector<HostRecord> hosts = {
      {.gpu_types = {"gh200-96gb", "gh200-141gb"},
       .link_bytes_per_second = 450e9,
       .memory_bytes = 480'000'000'000,
       .memory_bytes_per_second = 500e9,
       .source = "NVIDIA Grace Hopper Superchip Architecture: 480 GB of LPDDR5X at up to 546 GB/s "
                 "(500 GB/s with 480 GB), NVLink-C2C of 450 GB/s per direction"},
      {.gpu_types = {"gb200-186gb", "gb300-288gb"},
       .link_bytes_per_second = 225e9,
       .memory_bytes = 240'000'000'000,
       .memory_bytes_per_second = 256e9,
       .source = "NVIDIA GB200: one Grace of 480 GB at 512 GB/s, and its NVLink-C2C of 450 GB/s "
                 "per direction, for two GPUs"},
      {.least_link = 60e9,
       .memory_bytes = 256 * kGiB,
       .memory_bytes_per_second = 76.8e9,
       .source = "MLPerf's systems of 8 H200 and NVIDIA DGX H100: 2 TB, two Xeon 8480C with eight "
                 "channels of DDR5-4800"},
      {.least_link = 30e9,
       .memory_bytes = 128 * kGiB,
       .memory_bytes_per_second = 51.2e9,
       .source = "NVIDIA DGX A100: 1 TB (2 TB with 80 GB GPUs), two EPYC 7742 with eight channels "
                 "of DDR4-3200"},
      {.memory_bytes = 64 * kGiB,
       .memory_bytes_per_second = 19.2e9,
       .source = "NVIDIA DGX-1: 512 GB, two Xeon E5-2698 v4 with four channels of DDR4-2400"},
  };
  return hosts;
}

}  // namespace

const HostRecord& UsualHost(const GpuSpec& gpu) {
  for (const HostRecord& host : Hosts()) {
    const std::vector<std::string>& types = host.gpu_types;
    if (types.empty() ? gpu.pcie_bytes_per_second >= host.least_link
                      : std::find(types.begin(), types.end(), gpu.name) != types.end())
      return host;
  }
  return Hosts().back();
}

}  // namespace evenkeel::planner
