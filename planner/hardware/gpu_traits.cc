#include "planner/hardware/gpu_traits.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "planner/hardware/collective_table.h"

namespace evenkeel::planner {

namespace {

// From Hopper on, products reach the tensor cores' peak only through wgmma (tcgen05 on Blackwell),
// whose operands TMA loads in rows of a multiple of 16 bytes. mma, which Ampere's kernels use,
// reaches 63% of Hopper's peak on average (arXiv 2402.13499). Blackwell's share is assumed.
constexpr double kMmaSlowdown = 1 / 0.63;

}  // namespace

std::vector<std::string> WithLabels(std::vector<std::string> aliases) {
  const size_t given = aliases.size();
  for (size_t i = 0; i < given; ++i) {
    std::string label = aliases[i];
    std::replace(label.begin(), label.end(), ' ', '-');
    if (label != aliases[i]) aliases.push_back(std::move(label));
  }
  return aliases;
}

GpuTraits AmpereTraits() {
  return {.generation = GpuGeneration::kAmpere,
          .processors = 108,
          .fp8_products = false,
          .workspace_bytes = kWorkspace,
          .beyond_flash2 = false,
          .any_alignment_slowdown = 1,
          .kernels = &A100Kernels(),
          .collectives = &A100Collectives()};
}

GpuTraits HopperTraits() {
  return {.generation = GpuGeneration::kHopper,
          .processors = 132,
          .fp8_products = true,
          .workspace_bytes = kLargeWorkspace,
          .beyond_flash2 = true,
          .any_alignment_slowdown = kMmaSlowdown,
          .kernels = &H100Kernels(),
          .collectives = &H100Collectives()};
}

GpuTraits BlackwellTraits() {
  return {.generation = GpuGeneration::kBlackwell,
          .processors = 148,
          .fp8_products = true,
          .workspace_bytes = kLargeWorkspace,
          .beyond_flash2 = true,
          .any_alignment_slowdown = kMmaSlowdown,
          .kernels = &B200Kernels(),
          .collectives = &B200Collectives()};
}

GpuTraits AdaTraits() {
  return {.generation = GpuGeneration::kAda,
          .processors = 142,
          .fp8_products = true,
          .workspace_bytes = kWorkspace,
          .beyond_flash2 = false,
          .any_alignment_slowdown = 1,
          .kernels = &L40sKernels(),
          .collectives = &PcieCollectives()};
}

// Boards of the generation before Ada have no fp8, but otherwise Ada's kernels.
GpuTraits AmpereBoardTraits() {
  GpuTraits traits = AdaTraits();
  traits.generation = GpuGeneration::kAmpere;
  traits.fp8_products = false;
  return traits;
}

GpuTraits VoltaTraits() {
  return {.generation = GpuGeneration::kOther,
          .processors = 80,
          .fp8_products = false,
          .workspace_bytes = kWorkspace,
          .beyond_flash2 = false,
          .any_alignment_slowdown = 1,
          .kernels = nullptr,
          .collectives = &A100Collectives()};
}

GpuTraits CdnaTraits(double compute_units, int64_t workspace_bytes) {
  return {.generation = GpuGeneration::kOther,
          .processors = compute_units,
          .fp8_products = false,
          .workspace_bytes = workspace_bytes,
          .beyond_flash2 = false,
          .any_alignment_slowdown = 1,
          .kernels = nullptr,
          .collectives = &A100Collectives(),
          // MI300X reached .51 of its peak, and MI325X .60.
          .assumed_efficiency = 0.55};
}

GpuTraits WithProcessors(GpuTraits traits, double processors) {
  traits.processors = processors;
  return traits;
}

GpuTraits WithKernels(GpuTraits traits, const KernelCurves& kernels) {
  traits.kernels = &kernels;
  return traits;
}

GpuTraits WithFp8(GpuTraits traits) {
  traits.fp8_products = true;
  return traits;
}

GpuTraits WithCollectives(GpuTraits traits, const CollectiveTable& collectives) {
  traits.collectives = &collectives;
  return traits;
}

// Without a link among all GPUs of a node, traffic goes over PCIe.
GpuTraits ThroughHost(GpuTraits traits) { return WithCollectives(traits, PcieCollectives()); }

}  // namespace evenkeel::planner
