// Properties that all GPUs of a generation share.
#ifndef EVENKEEL_PLANNER_HARDWARE_GENERATIONS_H_
#define EVENKEEL_PLANNER_HARDWARE_GENERATIONS_H_

#include <string_view>

#include "planner/hardware/gpu_costs.h"

namespace evenkeel::planner {

struct GenerationRecord {
  GpuGeneration generation;
  // The best flash attention kernels (AttentionKernel::kFlash). Their time with dropout, over that
  // without.
  double dropout_forward = 1.05, dropout_backward = 1.05;
  // TransformerEngine's deterministic kernels are cuDNN's; otherwise they are FlashAttention-2's.
  bool deterministic_cudnn = false;
  // The ratios of attention's backward pass were measured, on H100.
  bool measured_backward = false;
  // DeepEP and HybridEP have kernels for it.
  bool expert_kernels = false;
  // Published runs on which nothing was fitted validate the times of steps in 16 bits, and below.
  bool validated_16bit = false, validated_below_16bit = false;
  // Mean absolute error of those steps in 16 bits, as a share of the measured time, and the runs; 0
  // and the reason if there are none.
  double step_error = 0;
  std::string_view error_source;
};

const GenerationRecord& RecordOf(GpuGeneration generation);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_GENERATIONS_H_
