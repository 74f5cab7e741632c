// Memory is the marketing size taken as GiB; CUDA reports a little less. The numbers of streaming
// multiprocessors and compute units are from the vendors' architecture papers.
#include "planner/hardware/gpu_records.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/concatenate.h"
#include "planner/base/units.h"
#include "planner/hardware/collective_table.h"

namespace evenkeel::planner {
namespace {

// Adds the aliases with dashes instead of spaces: Kubernetes GPU feature discovery labels nodes
// with the driver's name in that form.
std::vector<std::string> WithLabels(std::vector<std::string> aliases) {
  const size_t given = aliases.size();
  for (size_t i = 0; i < given; ++i) {
    std::string label = aliases[i];
    std::replace(label.begin(), label.end(), ' ', '-');
    if (label != aliases[i]) aliases.push_back(std::move(label));
  }
  return aliases;
}

constexpr int64_t kWorkspace = int64_t{4} << 20;
constexpr int64_t kLargeWorkspace = int64_t{32} << 20;

// Traits that several types share; a copy states what differs.
GpuTraits AmpereTraits() {
  return {.generation = GpuGeneration::kAmpere,
          .processors = 108,
          .fp8_products = false,
          .workspace_bytes = kWorkspace,
          .beyond_flash2 = false,
          .kernels = &A100Kernels(),
          .collectives = &A100Collectives()};
}

GpuTraits HopperTraits() {
  return {.generation = GpuGeneration::kHopper,
          .processors = 132,
          .fp8_products = true,
          .workspace_bytes = kLargeWorkspace,
          .beyond_flash2 = true,
          .kernels = &H100Kernels(),
          .collectives = &H100Collectives()};
}

GpuTraits BlackwellTraits() {
  return {.generation = GpuGeneration::kBlackwell,
          .processors = 148,
          .fp8_products = true,
          .workspace_bytes = kLargeWorkspace,
          .beyond_flash2 = true,
          .kernels = &B200Kernels(),
          .collectives = &B200Collectives()};
}

GpuTraits AdaTraits() {
  return {.generation = GpuGeneration::kAda,
          .processors = 142,
          .fp8_products = true,
          .workspace_bytes = kWorkspace,
          .beyond_flash2 = false,
          .kernels = &L40sKernels(),
          .collectives = &L40sCollectives()};
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
          .kernels = nullptr,
          .collectives = &A100Collectives()};
}

GpuTraits CdnaTraits(double compute_units, int64_t workspace_bytes) {
  return {.generation = GpuGeneration::kOther,
          .processors = compute_units,
          .fp8_products = false,
          .workspace_bytes = workspace_bytes,
          .beyond_flash2 = false,
          .kernels = nullptr,
          .collectives = &A100Collectives()};
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

// Without a link among all GPUs of a node, traffic goes through the host as on L40S.
GpuTraits ThroughHost(GpuTraits traits) {
  traits.collectives = &L40sCollectives();
  return traits;
}

// The SXM and PCIe forms of an A100 have the same peak, so a name with only the memory size stands
// for the SXM module.
std::vector<GpuEntry> AmpereDataCentreGpus() {
  return {
      {.spec = {.name = "a100-sxm-80gb",
                .dense_16bit_flops = 312e12,
                .best_measured_16bit_flops = 271.2e12,
                .memory_bytes = 80 * kGiB,
                .hbm_bytes_per_second = 2039e9,
                .scaleup_bytes_per_second = 300e9,
                .pcie_bytes_per_second = 31.5e9},
       .traits = AmpereTraits(),
       .aliases = WithLabels(
           {"a100", "a100-80gb", "a100-sxm4-80gb", "nvidia a100-sxm4-80gb", "nvidia-a100-80gb"}),
       .vendor = "nvidia",
       .source =
           "stas00/ml-engineering accelerator and network tables; cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "a100-sxm-40gb",
                .dense_16bit_flops = 312e12,
                .memory_bytes = 40 * kGiB,
                .hbm_bytes_per_second = 1555e9,
                .scaleup_bytes_per_second = 300e9,
                .pcie_bytes_per_second = 31.5e9},
       .traits = AmpereTraits(),
       .aliases = WithLabels({"a100-40gb", "a100-sxm4-40gb", "nvidia a100-sxm4-40gb"}),
       .vendor = "nvidia",
       .source = "cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "a100-pcie-80gb",
                .dense_16bit_flops = 312e12,
                .best_measured_16bit_flops = 252.9e12,
                .memory_bytes = 80 * kGiB,
                .hbm_bytes_per_second = 1935e9,
                .scaleup_pairs_only = true,
                .scaleup_bytes_per_second = 300e9,
                .pcie_bytes_per_second = 31.5e9},
       .traits = ThroughHost(AmpereTraits()),
       .aliases = WithLabels({"a100-80gb-pcie", "nvidia a100 80gb pcie"}),
       .vendor = "nvidia",
       .source =
           "stas00/ml-engineering accelerator and network tables; cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "a100-pcie-40gb",
                .dense_16bit_flops = 312e12,
                .memory_bytes = 40 * kGiB,
                .hbm_bytes_per_second = 1555e9,
                .scaleup_pairs_only = true,
                .scaleup_bytes_per_second = 300e9,
                .pcie_bytes_per_second = 31.5e9},
       .traits = ThroughHost(AmpereTraits()),
       .aliases = WithLabels({"a100-40gb-pcie", "nvidia a100-pcie-40gb"}),
       .vendor = "nvidia",
       .source = "cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "a800-sxm-80gb",
                .dense_16bit_flops = 312e12,
                .memory_bytes = 80 * kGiB,
                .hbm_bytes_per_second = 2039e9,
                .scaleup_bytes_per_second = 200e9,
                .pcie_bytes_per_second = 31.5e9},
       .traits = AmpereTraits(),
       .aliases = WithLabels({"a800-sxm4-80gb", "nvidia a800-sxm4-80gb"}),
       .vendor = "nvidia",
       .source = "General knowledge (export variant of A100 with NVLink cut to 400 GB/s total)",
       .uncertain = "scaleup_bytes_per_second"},
  };
}

// "h100-80gb" is not an alias, because the PCIe board has three quarters of the SXM module's peak.
// With the prefix "nvidia-" it is Google Kubernetes Engine's label for the SXM module.
std::vector<GpuEntry> HopperGpus() {
  return {
      {.spec = {.name = "h100-sxm-80gb",
                .dense_16bit_flops = 989e12,
                .best_measured_16bit_flops = 794.5e12,
                .memory_bytes = 80 * kGiB,
                .hbm_bytes_per_second = 3350e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9},
       .traits = HopperTraits(),
       .aliases =
           WithLabels({"h100", "h100-sxm", "h100-sxm5", "h100-sxm5-80gb", "h100-80gb-hbm3",
                       "nvidia h100 80gb hbm3", "nvidia-h100-80gb", "nvidia-h100-mega-80gb"}),
       .vendor = "nvidia",
       .source =
           "stas00/ml-engineering accelerator and network tables; cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "h100-pcie-80gb",
                .dense_16bit_flops = 756e12,
                .memory_bytes = 80 * kGiB,
                .hbm_bytes_per_second = 2000e9,
                .scaleup_pairs_only = true,
                .scaleup_bytes_per_second = 300e9,
                .pcie_bytes_per_second = 63e9},
       .traits = ThroughHost(WithProcessors(HopperTraits(), 114)),
       .aliases = WithLabels({"h100-pcie", "nvidia h100 pcie"}),
       .vendor = "nvidia",
       .source =
           "stas00/ml-engineering accelerator and network tables; cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "h100-nvl-94gb",
                .dense_16bit_flops = 835e12,
                .memory_bytes = 94 * kGiB,
                .hbm_bytes_per_second = 3938e9,
                .scaleup_pairs_only = true,
                .scaleup_bytes_per_second = 300e9,
                .pcie_bytes_per_second = 63e9},
       .traits = ThroughHost(HopperTraits()),
       .aliases = WithLabels({"h100-nvl", "nvidia h100 nvl"}),
       .vendor = "nvidia",
       .source = "NVIDIA H100 NVL product brief",
       .uncertain = ""},
      // Hopper with its memory and links, and about a seventh of its matrix rate.
      {.spec = {.name = "h20-sxm-96gb",
                .dense_16bit_flops = 148e12,
                .memory_bytes = 95 * kGiB,  // the driver shows 97,871 MiB
                .hbm_bytes_per_second = 4000e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithProcessors(HopperTraits(), 78),
       .aliases = WithLabels({"h20", "h20-96gb", "nvidia h20"}),
       .vendor = "nvidia",
       .source = "vendors' copies of the H20 data sheet: 148 TFLOP/s, 4.0 TB/s, NVLink 900 GB/s",
       .uncertain = "dense_16bit_flops"},
      // The true peak is unknown. torchtitan's authors assume the SXM peak at a 500 W limit.
      {.spec = {.name = "h100-sxm-96gb-hbm2e",
                .dense_16bit_flops = 989e12,
                .memory_bytes = 96 * kGiB,
                .hbm_bytes_per_second = 2400e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9},
       .traits = HopperTraits(),
       .aliases = {"h100-96gb-hbm2e"},
       .vendor = "nvidia",
       .source = "pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md (500 W limit)",
       .uncertain = "dense_16bit_flops"},
      // The source assumes that the best rate measured on an H100 holds here too.
      {.spec = {.name = "h200-sxm-141gb",
                .dense_16bit_flops = 989e12,
                .best_measured_16bit_flops = 794.5e12,
                .memory_bytes = 141 * kGiB,
                .hbm_bytes_per_second = 4800e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithKernels(HopperTraits(), H200Kernels()),
       .aliases =
           WithLabels({"h200", "h200-sxm", "h200-141gb", "nvidia h200", "nvidia-h200-141gb"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = ""},
      {.spec = {.name = "h800-sxm-80gb",
                .dense_16bit_flops = 989e12,
                .memory_bytes = 80 * kGiB,
                .hbm_bytes_per_second = 3350e9,
                .scaleup_bytes_per_second = 200e9,
                .pcie_bytes_per_second = 63e9},
       .traits = HopperTraits(),
       .aliases = {"h800-sxm", "h800-sxm5-80gb"},
       .vendor = "nvidia",
       .source = "Vendor data sheet copies: NVLink 400 GB/s total",
       .uncertain = ""},
  };
}

std::vector<GpuEntry> GraceHopperAndBlackwellGpus() {
  return {
      // The driver's name counts the CPU memory.
      {.spec = {.name = "gh200-96gb",
                .dense_16bit_flops = 989e12,
                .best_measured_16bit_flops = 828.6e12,
                .memory_bytes = 96 * kGiB,
                .hbm_bytes_per_second = 4000e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9},
       .traits = HopperTraits(),
       .aliases = WithLabels({"nvidia gh200 480gb"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = ""},
      {.spec = {.name = "gh200-141gb",
                .dense_16bit_flops = 989e12,
                .best_measured_16bit_flops = 828.6e12,
                .memory_bytes = 141 * kGiB,
                .hbm_bytes_per_second = 4800e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9},
       .traits = HopperTraits(),
       .aliases = WithLabels({"gh200-144gb", "nvidia gh200 144g hbm3e"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = ""},
      // Some boards may have PCIe Gen6; this is not confirmed.
      {.spec = {.name = "b200-sxm-180gb",
                .dense_16bit_flops = 2250e12,
                .best_measured_16bit_flops = 1745e12,
                .memory_bytes = 180 * kGiB,
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 900e9,
                .pcie_bytes_per_second = 63e9},
       .traits = BlackwellTraits(),
       .aliases = WithLabels({"b200", "b200-sxm", "b200-180gb", "nvidia b200"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = ""},
      {.spec = {.name = "b300-sxm-288gb",
                .dense_16bit_flops = 2250e12,
                .best_measured_16bit_flops = 1769e12,
                .memory_bytes = 268 * kGiB,  // the driver shows 275,040 MiB
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 900e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithKernels(BlackwellTraits(), B300Kernels()),
       .aliases = WithLabels({"b300", "b300-sxm", "b300-288gb", "nvidia b300 sxm6 ac"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = "pcie_bytes_per_second"},
      // NVLink spans 72 GPUs in an NVL72.
      {.spec = {.name = "gb200-186gb",
                .dense_16bit_flops = 2500e12,
                .best_measured_16bit_flops = 1822e12,
                .memory_bytes = 186 * kGiB,
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 900e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithProcessors(WithKernels(BlackwellTraits(), Gb200Kernels()), 152),
       .aliases = WithLabels({"gb200", "nvidia gb200"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = "pcie_bytes_per_second"},
      {.spec = {.name = "gb300-288gb",
                .dense_16bit_flops = 2500e12,
                .memory_bytes = 277 * kGiB,  // the driver shows 284,208 MiB
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 900e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithProcessors(WithKernels(BlackwellTraits(), Gb300Kernels()), 152),
       .aliases = WithLabels({"gb300", "nvidia gb300"}),
       .vendor = "nvidia",
       .source = "NVIDIA, GB300 NVL72 product page, per GPU",
       .uncertain = "pcie_bytes_per_second"},
  };
}

std::vector<GpuEntry> WorkstationGpus() {
  return {
      {.spec = {.name = "rtx-pro-6000-96gb",
                .dense_16bit_flops = 503.8e12,
                .memory_bytes = 95 * kGiB,  // the driver shows 97,887 MiB
                .hbm_bytes_per_second = 1597e9,
                .pcie_bytes_per_second = 63e9},
       .traits =
           ThroughHost(WithProcessors(WithKernels(BlackwellTraits(), RtxPro6000Kernels()), 188)),
       .aliases = WithLabels({"rtx-pro-6000", "nvidia rtx pro 6000 blackwell server edition"}),
       .vendor = "nvidia",
       .source = "NVIDIA RTX PRO 6000 Blackwell Server Edition datasheet; dense, fp32 accumulation",
       .uncertain = ""},
      {.spec = {.name = "l40s-48gb",
                .dense_16bit_flops = 362e12,
                .memory_bytes = 48 * kGiB,
                .hbm_bytes_per_second = 864e9,
                .scaleup_bytes_per_second = 0,
                .pcie_bytes_per_second = 31.5e9},
       .traits = AdaTraits(),
       .aliases = WithLabels({"l40s", "nvidia l40s"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = ""},
      {.spec = {.name = "rtx-4090-24gb",
                .dense_16bit_flops = 165.2e12,
                .memory_bytes = 24 * kGiB,
                .hbm_bytes_per_second = 1008e9,
                .scaleup_bytes_per_second = 0,
                .pcie_bytes_per_second = 31.5e9},
       .traits = WithProcessors(AdaTraits(), 128),
       .aliases = WithLabels({"rtx4090", "rtx-4090", "4090", "nvidia geforce rtx 4090"}),
       .vendor = "nvidia",
       .source = "Vendor architecture white paper figures (fp16 input, fp32 accumulate)",
       .uncertain = "dense_16bit_flops"},
      {.spec = {.name = "rtx-a6000-48gb",
                .dense_16bit_flops = 154.8e12,
                .memory_bytes = 48 * kGiB,
                .hbm_bytes_per_second = 768e9,
                .scaleup_pairs_only = true,
                .scaleup_bytes_per_second = 56.25e9,
                .pcie_bytes_per_second = 31.5e9},
       .traits = WithProcessors(AmpereBoardTraits(), 84),
       .aliases = WithLabels({"a6000", "rtx-a6000", "nvidia rtx a6000"}),
       .vendor = "nvidia",
       .source = "cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "a10g-24gb",
                .dense_16bit_flops = 70e12,
                .memory_bytes = 24 * kGiB,
                .hbm_bytes_per_second = 600e9,
                .scaleup_bytes_per_second = 0,
                .pcie_bytes_per_second = 31.5e9},
       .traits = WithProcessors(AmpereBoardTraits(), 80),
       .aliases = WithLabels({"a10g", "nvidia a10g"}),
       .vendor = "nvidia",
       .source = "cli99/llm-analysis gpu_configs",
       .uncertain = "dense_16bit_flops"},
  };
}

std::vector<GpuEntry> VoltaGpus() {
  return {
      {.spec = {.name = "v100-sxm2-32gb",
                .dense_16bit_flops = 125e12,
                .memory_bytes = 32 * kGiB,
                .hbm_bytes_per_second = 900e9,
                .bfloat16 = false,
                .scaleup_bytes_per_second = 150e9,
                .pcie_bytes_per_second = 15.75e9},
       .traits = VoltaTraits(),
       .aliases = WithLabels({"v100-sxm-32gb", "tesla v100-sxm2-32gb"}),
       .vendor = "nvidia",
       .source = "cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "v100-sxm2-16gb",
                .dense_16bit_flops = 125e12,
                .memory_bytes = 16 * kGiB,
                .hbm_bytes_per_second = 900e9,
                .bfloat16 = false,
                .scaleup_bytes_per_second = 150e9,
                .pcie_bytes_per_second = 15.75e9},
       .traits = VoltaTraits(),
       .aliases = WithLabels({"v100-sxm-16gb", "tesla v100-sxm2-16gb"}),
       .vendor = "nvidia",
       .source = "cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      {.spec = {.name = "v100-pcie-32gb",
                .dense_16bit_flops = 112e12,
                .memory_bytes = 32 * kGiB,
                .hbm_bytes_per_second = 900e9,
                .bfloat16 = false,
                .scaleup_bytes_per_second = 0,
                .pcie_bytes_per_second = 15.75e9},
       .traits = ThroughHost(VoltaTraits()),
       .aliases = WithLabels({"tesla v100-pcie-32gb"}),
       .vendor = "nvidia",
       .source = "cli99/llm-analysis gpu_configs",
       .uncertain = ""},
  };
}

std::vector<GpuEntry> AmdGpus() {
  return {
      // Infinity Fabric: 7 links of 64 GB/s, 8 GPUs fully connected.
      {.spec = {.name = "mi300x-192gb",
                .dense_16bit_flops = 1307e12,
                .best_measured_16bit_flops = 668.4e12,
                .memory_bytes = 192 * kGiB,
                .hbm_bytes_per_second = 5300e9,
                .scaleup_bytes_per_second = 448e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithFp8(CdnaTraits(304, kLargeWorkspace)),
       .aliases = WithLabels(
           {"mi300x", "amd instinct mi300x", "amd_instinct_mi300x", "amd_instinct_mi300x_oam"}),
       .vendor = "amd",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = ""},
      {.spec = {.name = "mi325x-256gb",
                .dense_16bit_flops = 1300e12,
                .best_measured_16bit_flops = 784.9e12,
                .memory_bytes = 256 * kGiB,
                .hbm_bytes_per_second = 6000e9,
                .scaleup_bytes_per_second = 448e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithFp8(CdnaTraits(304, kLargeWorkspace)),
       .aliases = WithLabels({"mi325x", "amd instinct mi325x", "amd_instinct_mi325x"}),
       .vendor = "amd",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = "scaleup_bytes_per_second"},
      {.spec = {.name = "mi350x-288gb",
                .dense_16bit_flops = 2309.6e12,
                .memory_bytes = 288 * kGiB,
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 538e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithFp8(CdnaTraits(256, kLargeWorkspace)),
       .aliases = WithLabels({"mi350x", "amd instinct mi350x", "amd_instinct_mi350x"}),
       .vendor = "amd",
       .source = "AMD Instinct MI350X data sheet",
       .uncertain = ""},
      {.spec = {.name = "mi355x-288gb",
                .dense_16bit_flops = 2516.6e12,
                .memory_bytes = 288 * kGiB,
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 538e9,
                .pcie_bytes_per_second = 63e9},
       .traits = WithFp8(CdnaTraits(256, kLargeWorkspace)),
       .aliases = WithLabels({"mi355x", "amd instinct mi355x", "amd_instinct_mi355x"}),
       .vendor = "amd",
       .source = "AMD Instinct MI355X data sheet",
       .uncertain = ""},
      // Two dies of 64 GB, each of which the driver shows as its own device.
      {.spec = {.name = "mi250x-128gb",
                .dense_16bit_flops = 383e12,
                .memory_bytes = 128 * kGiB,
                .hbm_bytes_per_second = 3280e9,
                .scaleup_bytes_per_second = 350e9,
                .pcie_bytes_per_second = 31.5e9},
       .traits = CdnaTraits(208, kWorkspace),
       .aliases = WithLabels({"mi250x", "amd instinct mi250x", "amd_instinct_mi250x"}),
       .vendor = "amd",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = "scaleup_bytes_per_second"},
  };
}

}  // namespace

std::vector<GpuEntry> GpuRecords() {
  return Concatenate<GpuEntry>({AmpereDataCentreGpus, HopperGpus, GraceHopperAndBlackwellGpus,
                                WorkstationGpus, VoltaGpus, AmdGpus});
}

}  // namespace evenkeel::planner
