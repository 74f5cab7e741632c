#include "planner/cost/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kCausalQueryTile = 128;
constexpr int64_t kHeadSizeStep = 32;  // kernels round head sizes up to a multiple of this

// A cast with a scale that is known: medians of the tables of 6 GPU types (quantize.csv).
constexpr double kCastBytes = 3.8, kCastLaunchNs = 1900;
// Another reading of 16-bit values, at the rate that streaming kernels reach.
constexpr double kReadBytes = 2.5;

// Returns head size over efficiency, the cost of one pair of tokens; linear between the measured
// sizes.
double CausalCost(const CausalRates& rates, int64_t head_size) {
  const double size = D(RoundUp(head_size, kHeadSizeStep));
  const auto cost = [&](size_t i) { return 64 * static_cast<double>(i + 1) / rates.efficiency[i]; };
  if (size <= 64) return cost(0);
  if (size >= 256) return cost(3) * size / 256;
  const size_t below = static_cast<size_t>(size / 64) - 1;
  const double share = size / 64 - static_cast<double>(below + 1);
  return cost(below) + share * (cost(std::min<size_t>(below + 1, 3)) - cost(below));
}

// Returns the cost of one pair of tokens. Above the widest measured size it grows as for causal
// kernels.
double EncoderCost(const GpuCosts& rates, int64_t head_size) {
  const double narrow = 64 / rates.encoder.efficiency_64;
  if (head_size <= 64) return narrow;
  const double wide = D(rates.encoder.wide_size) / rates.encoder.efficiency_wide;
  if (head_size <= rates.encoder.wide_size) return wide;
  return std::max(wide,
                  narrow * CausalCost(rates.causal, head_size) / CausalCost(rates.causal, 64));
}

}  // namespace

KernelTime::KernelTime(const GpuSpec& gpu, const CostConstants& constants, NumberFormat products)
    : gpu_(gpu),
      constants_(constants),
      flops_per_ns_(gpu.dense_16bit_flops * SustainedClock(gpu, products, constants) * 1e-9),
      bytes_per_ns_(gpu.hbm_bytes_per_second * constants.hbm_efficiency * 1e-9) {}

MatrixMachine KernelTime::Machine(NumberFormat format) const {
  MatrixMachine machine = {.rates = gpu_.costs.matrix,
                           .flops_per_ns = flops_per_ns_,
                           .processors = gpu_.costs.processors,
                           .bytes_per_ns = bytes_per_ns_,
                           .launch_ns = constants_.kernel_launch_ns};
  if (format != NumberFormat::k16Bit) {
    machine.rates = *gpu_.costs.low.RatesOf(format);
    machine.flops_per_ns *= PeakRatioOf(format);
    machine.value_bytes = ValueBytesOf(format);
  }
  return machine;
}

Affine KernelTime::Matrix(int64_t n, int64_t k, int64_t rows, NumberFormat format,
                          int64_t count) const {
  return ProductTime(Machine(format), n, k, rows, count);
}

double KernelTime::BatchedRow(int64_t n, int64_t k, int64_t rows) const {
  return BatchedRowTime(Machine(NumberFormat::k16Bit), n, k, rows);
}

Affine KernelTime::WeightGradient(int64_t n, int64_t k, int64_t rows, NumberFormat format,
                                  double result_bytes, int64_t count) const {
  return ReductionTime(Machine(format), n, k, rows, result_bytes, count);
}

Affine KernelTime::Quantise(int64_t k, NumberFormat format, bool known_scale) const {
  if (format == NumberFormat::k16Bit) return {};
  const LowPrecisionRates& low = gpu_.costs.low;
  const MatrixRates& rates = *low.RatesOf(format);
  double bytes = rates.quantise_bytes, launch = rates.quantise_launch_ns;
  if (format == NumberFormat::kFp8) {
    // Training code reads a tensor once for its largest value, where the tables' kernels look
    // twice.
    bytes = std::min(bytes, kCastBytes + (known_scale ? 0 : kReadBytes));
    launch = std::min(launch, (known_scale ? 1 : 2) * kCastLaunchNs);
  }
  const bool two_layouts = format != NumberFormat::kFp8 || !low.fp8_any_layout;
  if (two_layouts) bytes += ValueBytesOf(format) / constants_.hbm_efficiency;
  return {launch, bytes * D(k) / gpu_.hbm_bytes_per_second * 1e9};
}

Affine KernelTime::EncoderAttention(int64_t heads, int64_t head_size, int64_t length,
                                    int64_t rows) const {
  const EncoderRates& e = gpu_.costs.encoder;
  const double keys = D(RoundUp(length, e.key_tile)) + e.half_length;
  const double tile = 4 * D(e.query_tile) * keys * EncoderCost(gpu_.costs, head_size) *
                      gpu_.costs.processors / flops_per_ns_;
  const double waves_per_row =
      D(heads) * D(CeilDivide(length, e.query_tile)) / (gpu_.costs.processors * D(length));
  double idle = e.wave_rounding / 2;  // waves
  if (rows > 0) {
    const double waves = waves_per_row * D(rows);
    idle = waves <= 1 ? 1 + e.wave_rounding * (std::ceil(waves) - 1) - waves
                      : e.wave_rounding * (std::ceil(waves) - waves);
  }
  return {e.launch_ns + idle * tile, waves_per_row * tile};
}

KernelTime::Causal KernelTime::CausalAttention(int64_t heads, int64_t /*kv_heads*/,
                                               int64_t head_size, int64_t longest) const {
  const CausalRates& c = gpu_.costs.causal;
  const double pair = CausalCost(c, head_size) / flops_per_ns_;
  const double unit = 2 * D(heads) * pair;
  const double tail = c.tail * 4 * D(kCausalQueryTile) * D(longest) * pair * gpu_.costs.processors;
  return {c.launch_ns + tail, unit * c.half_length, unit};
}

double KernelTime::ScanTime(double flops) const {
  return flops / (gpu_.costs.scan_efficiency * flops_per_ns_);
}

FlashRatios KernelTime::Flash(const FlashPass& pass) const {
  return RatiosOf(pass, gpu_.costs, constants_);
}

Affine KernelTime::MemoryBound(double bytes_per_row) const {
  return {constants_.kernel_launch_ns, bytes_per_row / bytes_per_ns_};
}

double KernelTime::OptimizerUpdate(double bytes) const {
  return constants_.kernel_launch_ns + bytes / bytes_per_ns_;
}

}  // namespace evenkeel::planner
