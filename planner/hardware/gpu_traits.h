// The record of a GPU type, and traits that several types share.
#ifndef EVENKEEL_PLANNER_HARDWARE_GPU_TRAITS_H_
#define EVENKEEL_PLANNER_HARDWARE_GPU_TRAITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/required.h"
#include "planner/hardware/gpu_spec.h"
#include "planner/hardware/kernel_curves.h"

namespace evenkeel::planner {

// Share of the peak that products reach on chips that nobody measured. Five runs of MLPerf 5.1 in
// FP8 on MI350X and MI355X are predicted 3 to 14% too fast with it.
inline constexpr double kMiddleEfficiency = 0.7;

// The part of a record from which the costs of its type follow.
struct GpuTraits {
  Required<GpuGeneration> generation;
  Required<double> processors;  // streaming multiprocessors, or compute units
  Required<bool> fp8_products;
  Required<int64_t> workspace_bytes;        // of one cuBLAS handle in TransformerEngine
  Required<bool> beyond_flash2;             // has attention kernels quicker than FlashAttention-2
  Required<double> any_alignment_slowdown;  // GpuCosts
  // Measured on this type or on its nearest relative; nullptr if neither was measured.
  Required<const KernelCurves*> kernels;
  // Times of nodes of this type or of its nearest relative, over the same kind of link.
  Required<const CollectiveTable*> collectives;
  // Share of the peak that 16-bit products reach if nothing was measured.
  double assumed_efficiency = kMiddleEfficiency;
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

// Adds the aliases with dashes instead of spaces: Kubernetes GPU feature discovery labels nodes
// with the driver's name in that form.
std::vector<std::string> WithLabels(std::vector<std::string> aliases);

inline constexpr int64_t kWorkspace = int64_t{4} << 20;
inline constexpr int64_t kLargeWorkspace = int64_t{32} << 20;

// Starting points for records: a record copies one and changes the fields that differ.
GpuTraits AmpereTraits();
GpuTraits HopperTraits();
GpuTraits BlackwellTraits();
GpuTraits AdaTraits();
GpuTraits AmpereBoardTraits();
GpuTraits VoltaTraits();
GpuTraits CdnaTraits(double compute_units, int64_t workspace_bytes);
GpuTraits WithProcessors(GpuTraits traits, double processors);
GpuTraits WithKernels(GpuTraits traits, const KernelCurves& kernels);
GpuTraits WithFp8(GpuTraits traits);
GpuTraits WithCollectives(GpuTraits traits, const CollectiveTable& collectives);
GpuTraits ThroughHost(GpuTraits traits);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_GPU_TRAITS_H_
