#include "planner/hardware/kernel_curves.h"

namespace evenkeel::planner {

// Measured only with head size 128 and causal. Other head sizes and the encoder curve keep L40S's
// ratios to it (both run FlashAttention-2's kernels).
const KernelCurves& A100Kernels() {
  static constexpr KernelCurves kCurves{.measured_on = "a100-sxm-80gb",
                                        .label = "A100-SXM",
                                        .matrix = {0.955, 206, 0.990, 0.749, 2680},
                                        .causal = {9140, {0.499, 0.597, 0.582, 0.602}, 245, 0.372},
                                        .encoder = {2710, 0.633, 0.693, 96, 128, 64, 82, 0.692}};
  return kCurves;
}

const KernelCurves& H100Kernels() {
  static constexpr KernelCurves kCurves{
      .measured_on = "h100-sxm-80gb",
      .label = "H100-SXM",
      .matrix = {0.874, 207, 0.026, 1, 9630},
      .low = {.fp8 = MatrixRates{0.794, 305, 1, 1, 415, 8300, 8.13},
              .fp8_block = MatrixRates{0.716, 613, 1, 0.986, 16900, 1510, 5.7}},
      .causal = {14500, {0.528, 0.690, 0.794, 0.815}, 661, 0},
      .encoder = {6780, 0.543, 0.680, 96, 192, 192, 303, 0.845},
      .scan_efficiency = 0.093};
  return kCurves;
}

const KernelCurves& H200Kernels() {
  static constexpr KernelCurves kCurves{
      .measured_on = "h200-sxm-141gb",
      .label = "H200-SXM",
      .matrix = {0.869, 184, 0.009, 1, 4700},
      .low = {.fp8 = MatrixRates{0.799, 291, 1, 1, 434, 8400, 10.2},
              .fp8_block = MatrixRates{0.721, 636, 1, 1, 19900, 980, 8.2}},
      .causal = {14300, {0.513, 0.677, 0.783, 0.803}, 634, 0},
      .encoder = {6360, 0.538, 0.683, 96, 192, 192, 311, 0.827},
      .scan_efficiency = 0.106};
  return kCurves;
}

// Head size 192 was not measured: its cost lies between those of 128 and 256.
const KernelCurves& B200Kernels() {
  static constexpr MatrixRates kBlocks{0.708, 307, 0.0644, 0.931, 20000, 3650, 4.11};
  static constexpr KernelCurves kCurves{
      .measured_on = "b200-sxm-180gb",
      .label = "B200-SXM",
      .matrix = {0.735, 73.6, 0.100, 0.989, 14500},
      .low = {.fp8 = MatrixRates{0.73, 136, 0.289, 0.969, 20000, 13200, 9.13},
              .fp8_block = kBlocks,
              .mxfp8 = kBlocks,
              .nvfp4 = MatrixRates{0.555, 744, 0.568, 0.794, 20000, 4710, 5.72},
              .fp8_any_layout = true},
      .causal = {11500, {0.364, 0.618, 0.698, 0.746}, 740, 0.877},
      .encoder = {3760, 0.420, 0.660, 128, 256, 128, 480, 0.965},
      .scan_efficiency = 0.051};
  return kCurves;
}

const KernelCurves& Gb200Kernels() {
  static constexpr MatrixRates kBlocks{0.692, 333, 0.138, 0.937, 20000, 3370, 4.27};
  static constexpr KernelCurves kCurves{
      .measured_on = "gb200-186gb",
      .label = "GB200",
      .matrix = {0.783, 124, 0.147, 0.952, 16000},
      .low = {.fp8 = MatrixRates{0.657, 159, 0.367, 0.959, 12300, 12500, 8.96},
              .fp8_block = kBlocks,
              .mxfp8 = kBlocks,
              .nvfp4 = MatrixRates{0.545, 773, 0.714, 0.805, 20000, 4350, 5.63},
              .fp8_any_layout = true},
      .causal = {11000, {0.352, 0.598, 0.685, 0.737}, 772, 0.977},
      .encoder = {4350, 0.396, 0.614, 128, 256, 128, 391, 0.927},
      .scan_efficiency = 0.048};
  return kCurves;
}

const KernelCurves& B300Kernels() {
  static constexpr MatrixRates kBlocks{0.774, 271, 0.109, 0.94, 20000, 3740, 3.73};
  static constexpr KernelCurves kCurves{
      .measured_on = "b300-sxm-288gb",
      .label = "B300-SXM",
      .matrix = {0.81, 49.9, 0.0743, 0.989, 12600},
      .low = {.fp8 = MatrixRates{0.722, 77.7, 0.204, 0.978, 19000, 12400, 8.7},
              .fp8_block = kBlocks,
              .mxfp8 = kBlocks,
              .nvfp4 = MatrixRates{0.79, 2350, 0.867, 0.595, 20000, 5790, 5.23},
              .fp8_any_layout = true},
      .causal = {10900, {0.495, 0.778, 0.811, 0.828}, 819, 0.748},
      .encoder = {3550, 0.539, 0.873, 128, 256, 128, 557, 0.842},
      .scan_efficiency = 0.054};
  return kCurves;
}

const KernelCurves& Gb300Kernels() {
  static constexpr MatrixRates kBlocks{0.844, 331, 0.201, 0.919, 20000, 4070, 4.05};
  static constexpr KernelCurves kCurves{
      .measured_on = "gb300-288gb",
      .label = "GB300",
      .matrix = {0.804, 53.3, 0.116, 0.965, 20000},
      .low = {.fp8 = MatrixRates{0.773, 164, 0.245, 0.965, 16300, 12600, 9.03},
              .fp8_block = kBlocks,
              .mxfp8 = kBlocks,
              .nvfp4 = MatrixRates{0.766, 2400, 0.883, 0.611, 20000, 6060, 4.99},
              .fp8_any_layout = true},
      .causal = {11200, {0.487, 0.792, 0.827, 0.845}, 880, 0.879},
      .encoder = {4640, 0.525, 0.863, 128, 256, 128, 581, 0.892},
      .scan_efficiency = 0.051};
  return kCurves;
}

const KernelCurves& RtxPro6000Kernels() {
  static constexpr KernelCurves kCurves{
      .measured_on = "rtx-pro-6000-96gb",
      .label = "RTX PRO 6000",
      .matrix = {0.868, 160, 0.58, 0.95, 3350},
      .low = {.fp8 = MatrixRates{0.954, 269, 1, 0.898, 20000, 6860, 3.63},
              .mxfp8 = MatrixRates{0.891, 1510, 1, 0.941, 1840, 17300, 8.31},
              .nvfp4 = MatrixRates{0.794, 313, 0.509, 0.988, 20000, 990, 2.38},
              .fp8_any_layout = true},
      .causal = {5060, {0.547, 0.641, 0.653, 0.665}, 494, 0.274},
      .encoder = {2710, 0.587, 0.643, 96, 128, 64, 82, 0.692},
      .scan_efficiency = 0.115};
  return kCurves;
}

const KernelCurves& L40sKernels() {
  static constexpr KernelCurves kCurves{
      .measured_on = "l40s-48gb",
      .label = "L40S",
      .matrix = {0.932, 321, 0.529, 0.847, 2610},
      .low = {.fp8 = MatrixRates{0.691, 230, 0.637, 1, 3840, 2540, 3.66}, .fp8_any_layout = true},
      .causal = {6740, {0.463, 0.554, 0.540, 0.559}, 460, 0.07},
      .encoder = {2710, 0.587, 0.643, 96, 128, 64, 82, 0.692},
      .scan_efficiency = 0.065};
  return kCurves;
}

const KernelCurves& Rtx4090Kernels() {
  static const KernelCurves kCurves = [] {
    KernelCurves curves = L40sKernels();
    const double products = curves.matrix.efficiency;
    const auto at_half_rate = [&](double& efficiency) {
      efficiency = 2 / (2 + 1 / efficiency - 1 / products);
    };
    curves.matrix.efficiency = 1;
    curves.matrix.depth_offset /= 2;
    curves.matrix.split_depth_offset /= 2;
    for (double& efficiency : curves.causal.efficiency) at_half_rate(efficiency);
    at_half_rate(curves.encoder.efficiency_64);
    at_half_rate(curves.encoder.efficiency_wide);
    curves.scan_efficiency *= 2;
    return curves;
  }();
  return kCurves;
}

}  // namespace evenkeel::planner
