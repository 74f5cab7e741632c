// The records of the GPU types.
#ifndef EVENKEEL_PLANNER_HARDWARE_GPU_RECORDS_H_
#define EVENKEEL_PLANNER_HARDWARE_GPU_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/stated.h"
#include "planner/hardware/gpu_spec.h"
#include "planner/hardware/kernel_curves.h"

namespace evenkeel::planner {

// What a record says about the costs of its type.
struct GpuTraits {
  Stated<GpuGeneration> generation;
  Stated<double> processors;  // streaming multiprocessors, or compute units
  Stated<bool> fp8_products;
  Stated<int64_t> workspace_bytes;  // of one cuBLAS handle in TransformerEngine
  Stated<bool> beyond_flash2;       // has attention kernels quicker than FlashAttention-2
  // Measured on this type or on its nearest relative; nullptr if neither was measured.
  Stated<const KernelCurves*> kernels;
  // Times of nodes of this type or of its nearest relative, over the same kind of link.
  Stated<const CollectiveTable*> collectives;
};

struct GpuEntry {
  GpuSpec spec;  // without `costs`, which follow from the traits
  GpuTraits traits;
  std::vector<std::string> aliases;
  std::string vendor;  // "nvidia" or "amd"
  std::string source;
  // comma-separated figures that the source itself doubts; empty if there are none
  std::string uncertain;
};

std::vector<GpuEntry> GpuRecords();

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_GPU_RECORDS_H_
