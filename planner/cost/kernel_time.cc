#include "planner/cost/kernel_time.h"

#include <algorithm>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

// Fitted constants shared by all GPUs (COST_MODEL.md 2.1 and 2.2).
constexpr double kMatrixLaunchNs = 3e3;
constexpr double kMatrixRowOffset = 50;     // m0 = n0
constexpr double kMatrixDepthOffset = 100;  // k0
constexpr double kAttentionLaunchNs = 16e3;
constexpr double kKvHeadOffset = 500;  // tokens; grouped queries reach the plateau earlier
constexpr double kMemoryEfficiency =
    0.8;  // assumed: share of the HBM rate that streaming kernels reach
constexpr double kStreamLaunchNs = 3e3;

// Assumed: long training runs clock below the short isolated kernels that the curves are fitted on.
constexpr double kSustainedClock = 0.92;

// fp32 master weight, two moments (read and write), fp32 gradient (read), 16-bit weight (write).
constexpr double kAdamBytesPerParameter = 3 * 8 + 4 + 2;

}  // namespace

KernelTime::KernelTime(const GpuSpec& gpu) : gpu_(gpu), rates_(RatesOf(gpu)) {}

Affine KernelTime::Matrix(int64_t n, int64_t k) const {
  const double flops_per_ns =
      gpu_.dense_16bit_flops * rates_.matrix_efficiency * kSustainedClock * 1e-9;
  const double per_row = 2.0 * (static_cast<double>(n) + kMatrixRowOffset) *
                         (static_cast<double>(k) + kMatrixDepthOffset) / flops_per_ns;
  return {kMatrixLaunchNs + kMatrixRowOffset * per_row, per_row};
}

Affine KernelTime::EncoderAttention(int64_t heads, int64_t head_size, int64_t length) const {
  const double padded = static_cast<double>(RoundUp(head_size, 32)) + rates_.head_size_offset;
  const double flops_per_ns = gpu_.dense_16bit_flops * rates_.encoder_efficiency * kSustainedClock *
                              1e-9 * (1 + rates_.head_size_offset / 128);
  const double per_row = 4.0 * static_cast<double>(heads) *
                         (static_cast<double>(length) + rates_.encoder_half_length) * padded /
                         flops_per_ns;
  return {kAttentionLaunchNs, per_row};
}

KernelTime::Causal KernelTime::CausalAttention(int64_t heads, int64_t kv_heads,
                                               int64_t head_size) const {
  const double padded = static_cast<double>(RoundUp(head_size, 32)) + rates_.head_size_offset;
  const double flops_per_ns = gpu_.dense_16bit_flops * rates_.causal_efficiency * kSustainedClock *
                              1e-9 * (1 + rates_.head_size_offset / 128);
  const double unit = 2.0 * static_cast<double>(heads) * padded / flops_per_ns;
  const double offset = rates_.causal_half_length +
                        kKvHeadOffset * static_cast<double>(kv_heads) / static_cast<double>(heads);
  return {kAttentionLaunchNs, unit * offset, unit};
}

Affine KernelTime::MemoryBound(double bytes_per_row) const {
  return {kStreamLaunchNs, bytes_per_row / (gpu_.hbm_bytes_per_second * kMemoryEfficiency) * 1e9};
}

double KernelTime::OptimizerUpdate(double parameters) const {
  return kStreamLaunchNs + parameters * kAdamBytesPerParameter /
                               (gpu_.hbm_bytes_per_second * kMemoryEfficiency) * 1e9;
}

}  // namespace evenkeel::planner
