// Curves of kernels fitted on the kernel tables of aiconfigurator 095f58a (Apache-2.0). Each is
// from one run of tests/validation/fit_kernels.py.
#ifndef EVENKEEL_PLANNER_HARDWARE_KERNEL_CURVES_H_
#define EVENKEEL_PLANNER_HARDWARE_KERNEL_CURVES_H_

#include "planner/hardware/gpu_costs.h"

namespace evenkeel::planner {

struct KernelCurves {
  const char* measured_on = "";  // slug of the GPU type
  const char* label = "";        // its name for people
  MatrixRates matrix;
  LowPrecisionRates low;
  CausalRates causal;
  EncoderRates encoder;
  // Share of the 16-bit peak that the scan of gated delta nets reaches: the median of
  // flash-linear-attention's kernels at 8,192 tokens and more.
  double scan_efficiency = 0.09;  // where it was not measured: as on Hopper
};

const KernelCurves& A100Kernels();
const KernelCurves& H100Kernels();
const KernelCurves& H200Kernels();
const KernelCurves& B200Kernels();
const KernelCurves& Gb200Kernels();
const KernelCurves& B300Kernels();
const KernelCurves& Gb300Kernels();
const KernelCurves& RtxPro6000Kernels();
const KernelCurves& L40sKernels();

// Curves of an RTX 4090, whose products with fp32 accumulation run at half an L40S's rate. They are
// derived, not measured: products alone reach the peak, and the rest of an L40S's kernels takes as
// long as there. The mean rate of eight square products, of 2,048 to 10,240 in fp16 and bf16,
// agrees with zzc0721/torch-performance-test-data issue 78; each does within 8%.
const KernelCurves& Rtx4090Kernels();

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_KERNEL_CURVES_H_
