#include "planner/cost/gpu_rates.h"

#include <string_view>

namespace evenkeel::planner {
namespace {

constexpr const char* kKernelTables =
    "fitted on the kernel tables of aiconfigurator 095f58a (Apache-2.0) by "
    "tests/validation/fit_kernels.py";

// All columns from one run of tests/validation/fit_kernels.py; A100 encoder attention is inferred
// (its table is causal only): 1.2 x causal, as L40S, which runs the same kernel family.
GpuRates Fitted(double e, double ac, double sc, double ae, double se, double d0, double l0,
                double l1, double c, double eta) {
  return {.matrix_efficiency = e,
          .causal_efficiency = ac,
          .causal_half_length = sc,
          .encoder_efficiency = ae,
          .encoder_half_length = se,
          .head_size_offset = d0,
          .collective_latency_ns = l0 * 1e3,
          .collective_rank_latency_ns = l1 * 1e3,
          .collective_smoothing_ns = c * 1e3,
          .collective_efficiency = eta,
          .basis = Basis::kFitted,
          .source = kKernelTables};
}

GpuRates A100() { return Fitted(0.836, 0.575, 408, 0.69, 50, 22, 8.40, 0.72, 28.7, 0.840); }
GpuRates H100() { return Fitted(0.839, 0.674, 1001, 0.702, 306, 56, 4.47, 0.73, 11.8, 0.872); }
GpuRates H200() { return Fitted(0.835, 0.666, 939, 0.705, 297, 59, 4.25, 0.85, 10.0, 0.871); }
GpuRates B200() { return Fitted(0.739, 0.518, 982, 0.552, 440, 106, 7.82, 1.14, 13.9, 0.835); }
GpuRates Gb200() { return Fitted(0.755, 0.479, 940, 0.504, 324, 101, 8.37, 1.08, 11.8, 0.820); }
GpuRates L40s() { return Fitted(0.643, 0.529, 440, 0.648, 49, 22, 4.34, 1.00, 7.5, 0.9); }

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

GpuRates Kin(GpuRates rates, const GpuSpec& gpu, const char* of) {
  if (gpu.best_measured_16bit_flops > 0) {
    rates.matrix_efficiency = gpu.best_measured_16bit_flops / gpu.dense_16bit_flops;
  }
  rates.basis = Basis::kAssumed;
  rates.source =
      std::string("no measured kernels of this chip: curves of ") + of +
      (gpu.best_measured_16bit_flops > 0 ? ", matrix rate from its best published one" : "");
  return rates;
}

// A chip that nobody measured: matrix rate from its best published one or a cautious 0.7, attention
// at two thirds.
GpuRates Unmeasured(const GpuSpec& gpu) {
  const double e = gpu.best_measured_16bit_flops > 0
                       ? gpu.best_measured_16bit_flops / gpu.dense_16bit_flops
                       : 0.7;
  GpuRates rates = Fitted(e, 0.65 * e, 500, 0.8 * e, 100, 30, 6, 1, 12, 0.8);
  rates.basis = Basis::kAssumed;
  rates.source =
      gpu.best_measured_16bit_flops > 0
          ? "no measured kernels: matrix rate from its best published one, the rest by analogy"
          : "no measurement of this chip at all: assumed by analogy";
  return rates;
}

}  // namespace

GpuRates RatesOf(const GpuSpec& gpu) {
  struct Entry {
    std::string_view prefix;
    GpuRates (*rates)();
    const char* kin_of;  // nullptr: this very chip was measured
  };
  static constexpr Entry kEntries[] = {
      {"a100-sxm", A100, nullptr},    {"a100-", A100, "A100-SXM"}, {"a800-", A100, "A100-SXM"},
      {"h100-sxm-80", H100, nullptr}, {"h100-", H100, "H100-SXM"}, {"h800-", H100, "H100-SXM"},
      {"gh200-", H100, "H100-SXM"},   {"h200-", H200, nullptr},    {"b200-", B200, nullptr},
      {"b300-", B200, "B200-SXM"},    {"gb200-", Gb200, nullptr},  {"l40s", L40s, nullptr},
      {"rtx-", L40s, "L40S"},         {"a10g", L40s, "L40S"},
  };
  for (const Entry& entry : kEntries) {
    if (!StartsWith(gpu.name, entry.prefix)) continue;
    return entry.kin_of == nullptr ? entry.rates() : Kin(entry.rates(), gpu, entry.kin_of);
  }
  return Unmeasured(gpu);
}

}  // namespace evenkeel::planner
