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

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_KERNEL_CURVES_H_
