#ifndef EVENKEEL_PLANNER_HARDWARE_GPU_SPEC_H_
#define EVENKEEL_PLANNER_HARDWARE_GPU_SPEC_H_

#include <cstdint>
#include <string>

#include "planner/hardware/gpu_costs.h"

namespace evenkeel::planner {

// One GPU type and memory size. Rates are per GPU; link rates are per direction.
struct GpuSpec {
  std::string name;
  double dense_16bit_flops = 0;  // vendor's peak without sparsity, FLOP/s
  // Best published measurement of a matrix product, FLOP/s; 0 if unknown.
  double best_measured_16bit_flops = 0;
  int64_t memory_bytes = 0;  // marketing size taken as GiB (COST_MODEL.md, memory)
  double hbm_bytes_per_second = 0;
  bool bfloat16 = true;                 // can multiply in bfloat16
  bool scaleup_pairs_only = false;      // the scale-up link is a bridge between two cards
  double scaleup_bytes_per_second = 0;  // NVLink or similar; 0 if none
  double pcie_bytes_per_second = 0;
  int64_t scaleup_domain_gpus = 0;  // GPUs that the link joins across nodes; 0: those of a node
  int64_t node_gpus = 8;            // GPUs of a usual node
  double power_watts = 0;           // of the board, by default; 0 if unknown
  // Power at which the generation's boards reach its sustained clock (SustainedClock), where that
  // of this type differs. 0: power_watts.
  double full_power_watts = 0;
  // Long products draw so much power that the clock falls (CostConstants). If false, it falls only
  // under a limit.
  bool power_bound = true;
  double power_limit_watts = 0;  // limit of the job's boards; 0: power_watts
  GpuCosts costs;
};

// Returns whether the GPU multiplies in a format.
inline bool HasProducts(const GpuSpec& gpu, NumberFormat format) {
  return format == NumberFormat::k16Bit || gpu.costs.low.RatesOf(format) != nullptr;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_GPU_SPEC_H_
