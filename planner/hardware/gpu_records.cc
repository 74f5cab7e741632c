// Memory is the marketing size taken as GiB; CUDA reports a little less. The numbers of streaming
// multiprocessors and compute units are from the vendors' architecture papers, and the power of
// boards is from their data sheets. GH200's is that of the whole module, with its CPU.
#include "planner/hardware/gpu_records.h"

#include <string>
#include <vector>

#include "planner/base/concatenate.h"
#include "planner/base/units.h"
#include "planner/hardware/other_gpu_records.h"

namespace evenkeel::planner {
namespace {

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
                .pcie_bytes_per_second = 31.5e9,
                .power_watts = 400},
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
                .pcie_bytes_per_second = 31.5e9,
                .power_watts = 400},
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
                .pcie_bytes_per_second = 31.5e9,
                .power_watts = 300},
       .traits = ThroughHost(AmpereTraits()),
       .aliases = WithLabels({"a100-80gb-pcie", "nvidia a100 80gb pcie"}),
       .vendor = "nvidia",
       .source =
           "stas00/ml-engineering accelerator and network tables; cli99/llm-analysis gpu_configs",
       .uncertain = ""},
      // No rate of this board is published: that of the board with 80 GB, which has more power.
      {.spec = {.name = "a100-pcie-40gb",
                .dense_16bit_flops = 312e12,
                .best_measured_16bit_flops = 252.9e12,
                .memory_bytes = 40 * kGiB,
                .hbm_bytes_per_second = 1555e9,
                .scaleup_pairs_only = true,
                .scaleup_bytes_per_second = 300e9,
                .pcie_bytes_per_second = 31.5e9,
                .power_watts = 250,
                .full_power_watts = 300},
       .traits = ThroughHost(AmpereTraits()),
       .aliases = WithLabels({"a100-40gb-pcie", "nvidia a100-pcie-40gb"}),
       .vendor = "nvidia",
       .source = "cli99/llm-analysis gpu_configs",
       .uncertain = ""},
  };
}

std::vector<GpuEntry> AmpereExportGpus() {
  return {
      {.spec = {.name = "a800-sxm-80gb",
                .dense_16bit_flops = 312e12,
                .memory_bytes = 80 * kGiB,
                .hbm_bytes_per_second = 2039e9,
                .scaleup_bytes_per_second = 200e9,
                .pcie_bytes_per_second = 31.5e9,
                .power_watts = 400},
       .traits = AmpereTraits(),
       .aliases = WithLabels({"a800", "a800-sxm", "a800-sxm4-80gb", "nvidia a800-sxm4-80gb"}),
       .vendor = "nvidia",
       .source = "NVIDIA's A100 80GB datasheet, with NVLink cut from 600 to 400 GB/s (NVIDIA's "
                 "statement of November 2022)",
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
                .pcie_bytes_per_second = 63e9,
                .power_watts = 700},
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
                .pcie_bytes_per_second = 63e9,
                .power_watts = 350},
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
                .pcie_bytes_per_second = 63e9,
                .power_watts = 400},
       .traits = ThroughHost(HopperTraits()),
       .aliases = WithLabels({"h100-nvl", "nvidia h100 nvl"}),
       .vendor = "nvidia",
       .source = "NVIDIA H100 NVL product brief",
       .uncertain = ""},
  };
}

std::vector<GpuEntry> SlowerHopperGpus() {
  return {
      // Hopper with its memory and links, and about a seventh of its matrix rate.
      {.spec = {.name = "h20-sxm-96gb",
                .dense_16bit_flops = 148e12,
                .memory_bytes = 95 * kGiB,  // the driver shows 97,871 MiB
                .hbm_bytes_per_second = 4000e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9,
                .power_watts = 500,
                .power_bound = false},  // an H100's board with 15% of its products
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
                .pcie_bytes_per_second = 63e9,
                .power_watts = 500,
                .full_power_watts = 700},
       .traits = HopperTraits(),
       .aliases = {"h100-96gb-hbm2e"},
       .vendor = "nvidia",
       .source = "pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md (500 W limit)",
       .uncertain = "dense_16bit_flops"},
  };
}

std::vector<GpuEntry> LargeHopperGpus() {
  return {
      // The source assumes that the best rate measured on an H100 holds here too.
      {.spec = {.name = "h200-sxm-141gb",
                .dense_16bit_flops = 989e12,
                .best_measured_16bit_flops = 794.5e12,
                .memory_bytes = 141 * kGiB,
                .hbm_bytes_per_second = 4800e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9,
                .power_watts = 700},
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
                .pcie_bytes_per_second = 63e9,
                .power_watts = 700},
       .traits = HopperTraits(),
       .aliases = {"h800", "h800-sxm", "h800-sxm5-80gb"},
       .vendor = "nvidia",
       .source = "Vendor data sheet copies: NVLink 400 GB/s total",
       .uncertain = ""},
  };
}

// Clusters have nodes of 4: Alps has 10,752 in 2,688 nodes (docs.cscs.ch/alps/hardware). In
// JUPITER's nodes of 4 a module may draw 680 W, in its login nodes of one 900 W
// (apps.fz-juelich.de/jsc/hps/jupiter/configuration.html).
std::vector<GpuEntry> GraceHopperGpus() {
  return {
      // The driver's name counts the CPU memory.
      {.spec = {.name = "gh200-96gb",
                .dense_16bit_flops = 989e12,
                .best_measured_16bit_flops = 828.6e12,
                .memory_bytes = 96 * kGiB,
                .hbm_bytes_per_second = 4000e9,
                .scaleup_bytes_per_second = 450e9,
                .pcie_bytes_per_second = 63e9,
                .node_gpus = 4,
                .power_watts = 680,
                .full_power_watts = 900},
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
                .pcie_bytes_per_second = 63e9,
                .node_gpus = 4,
                .power_watts = 900},
       .traits = HopperTraits(),
       .aliases = WithLabels({"gh200-144gb", "nvidia gh200 144g hbm3e"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = ""},
  };
}

constexpr double kB200Watts = 1000;

// An NVL72 has 18 trays of 4 GPUs, each a node (NVIDIA, GB200 NVL72 and GB300 NVL72 product pages).
std::vector<GpuEntry> BlackwellGpus() {
  return {
      // Some boards may have PCIe Gen6; this is not confirmed.
      {.spec = {.name = "b200-sxm-180gb",
                .dense_16bit_flops = 2250e12,
                .best_measured_16bit_flops = 1745e12,
                .memory_bytes = 180 * kGiB,
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 900e9,
                .pcie_bytes_per_second = 63e9,
                .power_watts = kB200Watts},
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
                .pcie_bytes_per_second = 63e9,
                .power_watts = 1100,
                .full_power_watts = kB200Watts},
       .traits = WithKernels(BlackwellTraits(), B300Kernels()),
       .aliases = WithLabels({"b300", "b300-sxm", "b300-288gb", "nvidia b300 sxm6 ac"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = "pcie_bytes_per_second"},
      {.spec = {.name = "gb200-186gb",
                .dense_16bit_flops = 2500e12,
                .best_measured_16bit_flops = 1822e12,
                .memory_bytes = 186 * kGiB,
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 900e9,
                .pcie_bytes_per_second = 63e9,
                .scaleup_domain_gpus = 72,
                .node_gpus = 4,
                .power_watts = 1200,
                .full_power_watts = kB200Watts},
       .traits = WithProcessors(WithKernels(BlackwellTraits(), Gb200Kernels()), 152),
       .aliases = WithLabels({"gb200", "gb200-nvl72", "nvidia gb200"}),
       .vendor = "nvidia",
       .source = "stas00/ml-engineering accelerator and network tables",
       .uncertain = "pcie_bytes_per_second"},
      {.spec = {.name = "gb300-288gb",
                .dense_16bit_flops = 2500e12,
                .memory_bytes = 277 * kGiB,  // the driver shows 284,208 MiB
                .hbm_bytes_per_second = 8000e9,
                .scaleup_bytes_per_second = 900e9,
                .pcie_bytes_per_second = 63e9,
                .scaleup_domain_gpus = 72,
                .node_gpus = 4,
                .power_watts = 1400,
                .full_power_watts = kB200Watts},
       .traits = WithProcessors(WithKernels(BlackwellTraits(), Gb300Kernels()), 152),
       .aliases = WithLabels({"gb300", "gb300-nvl72", "nvidia gb300"}),
       .vendor = "nvidia",
       .source = "NVIDIA, GB300 NVL72 product page, per GPU",
       .uncertain = "pcie_bytes_per_second"},
  };
}

}  // namespace

std::vector<GpuEntry> GpuRecords() {
  return Concatenate<GpuEntry>({AmpereDataCentreGpus, AmpereExportGpus, HopperGpus,
                                SlowerHopperGpus, LargeHopperGpus, GraceHopperGpus, BlackwellGpus,
                                WorkstationGpus, VoltaGpus, AmdGpus, OlderAmdGpus});
}

}  // namespace evenkeel::planner
