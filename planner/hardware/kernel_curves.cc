#include "planner/hardware/kernel_curves.h"

namespace evenkeel::planner {

// Measured only with head size 128 and causal. Other head sizes and the encoder curve keep L40S's
// ratios to it (both run FlashAttention-2's kernels).
const KernelCurves& A100Kernels() {
  static constexpr KernelCurves kCurves{.measured_on = "a100-sxm-80gb",
                                        .label = "A100-SXM",
                                        .matrix = {0.955, 206, 0.990, 0.749, 2680},
                                        .fp8 = std::nullopt,
                                        .causal = {9140, {0.499, 0.597, 0.582, 0.602}, 245, 0.372},
                                        .encoder = {2710, 0.633, 0.693, 96, 128, 64, 82, 0.692}};
  return kCurves;
}

const KernelCurves& H100Kernels() {
  static constexpr KernelCurves kCurves{.measured_on = "h100-sxm-80gb",
                                        .label = "H100-SXM",
                                        .matrix = {0.874, 207, 0.026, 1, 9630},
                                        .fp8 = MatrixRates{0.816, 648, 0.278, 1, 20000, 5870, 8.59},
                                        .causal = {14500, {0.528, 0.690, 0.794, 0.815}, 661, 0},
                                        .encoder = {6780, 0.543, 0.680, 96, 192, 192, 303, 0.845},
                                        .scan_efficiency = 0.093};
  return kCurves;
}

const KernelCurves& H200Kernels() {
  static constexpr KernelCurves kCurves{.measured_on = "h200-sxm-141gb",
                                        .label = "H200-SXM",
                                        .matrix = {0.869, 184, 0.009, 1, 4700},
                                        .fp8 = MatrixRates{0.978, 752, 0.396, 1, 20000, 6890, 13.1},
                                        .causal = {14300, {0.513, 0.677, 0.783, 0.803}, 634, 0},
                                        .encoder = {6360, 0.538, 0.683, 96, 192, 192, 311, 0.827},
                                        .scan_efficiency = 0.106};
  return kCurves;
}

// Head size 192 was not measured: its cost lies between those of 128 and 256.
const KernelCurves& B200Kernels() {
  static constexpr KernelCurves kCurves{.measured_on = "b200-sxm-180gb",
                                        .label = "B200-SXM",
                                        .matrix = {0.735, 73.6, 0.100, 0.989, 14500},
                                        .fp8 = MatrixRates{0.925, 1360, 1, 0.666, 1570, 5800, 19.1},
                                        .causal = {11500, {0.364, 0.618, 0.698, 0.746}, 740, 0.877},
                                        .encoder = {3760, 0.420, 0.660, 128, 256, 128, 480, 0.965},
                                        .scan_efficiency = 0.051};
  return kCurves;
}

const KernelCurves& Gb200Kernels() {
  static constexpr KernelCurves kCurves{
      .measured_on = "gb200-186gb",
      .label = "GB200",
      .matrix = {0.783, 124, 0.147, 0.952, 16000},
      .fp8 = MatrixRates{0.944, 1480, 0.264, 0.963, 19000, 6170, 17.9},
      .causal = {11000, {0.352, 0.598, 0.685, 0.737}, 772, 0.977},
      .encoder = {4350, 0.396, 0.614, 128, 256, 128, 391, 0.927},
      .scan_efficiency = 0.048};
  return kCurves;
}

const KernelCurves& L40sKernels() {
  static constexpr KernelCurves kCurves{
      .measured_on = "l40s-48gb",
      .label = "L40S",
      .matrix = {0.932, 321, 0.529, 0.847, 2610},
      .fp8 = MatrixRates{0.686, 1170, 0.444, 0.991, 20000, 1510, 3.55},
      .causal = {6740, {0.463, 0.554, 0.540, 0.559}, 460, 0.07},
      .encoder = {2710, 0.587, 0.643, 96, 128, 64, 82, 0.692},
      .scan_efficiency = 0.065};
  return kCurves;
}

}  // namespace evenkeel::planner
