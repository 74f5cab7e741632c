// Usual hosts of GPU types: memory of a node, and the link between it and a GPU. All of it is
// assumed for a job that does not say otherwise.
#ifndef EVENKEEL_PLANNER_HARDWARE_HOSTS_H_
#define EVENKEEL_PLANNER_HARDWARE_HOSTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/hardware/gpu_spec.h"

namespace evenkeel::planner {

// A host's share for each of its GPUs. Nominal rates.
struct HostRecord {
  std::vector<std::string> gpu_types;  // of the catalogue; empty: told only by the link
  double least_link = 0;               // bytes/s: the record is for types with this link or more
  double link_bytes_per_second = 0;    // per direction; 0: the GPU type's PCIe
  int64_t memory_bytes = 0;
  double memory_bytes_per_second = 0;
  std::string source;
};

// Returns the first record that is for the type.
const HostRecord& UsualHost(const GpuSpec& gpu);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_HOSTS_H_
