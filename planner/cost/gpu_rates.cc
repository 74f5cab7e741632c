#include "planner/cost/gpu_rates.h"

#include <string_view>

namespace evenkeel::planner {
namespace {

constexpr const char* kKernelTables =
    "fitted on the kernel tables of aiconfigurator 095f58a (Apache-2.0) by "
    "tests/validation/fit_kernels.py";

// The columns are from one run of tests/validation/fit_kernels.py. The numbers of streaming
// multiprocessors are from NVIDIA's architecture white papers.
GpuRates L40s() {
  return {.family = GpuFamily::kAda,
          .processors = 142,
          .matrix = {0.932, 321, 0.529, 0.847, 2610},
          .fp8 = MatrixRates{0.686, 1170, 0.444, 0.991, 20000, 1510, 3.55},
          .causal = {6740, {0.463, 0.554, 0.540, 0.559}, 460, 0.07},
          .encoder = {2710, 0.587, 0.643, 96, 128, 64, 82, 0.692},
          .collectives = &L40sCollectives(),
          .basis = Basis::kFitted,
          .source = kKernelTables};
}

// Measured only with head size 128 and causal. Other head sizes and the encoder curve keep L40S's
// ratios to it (both run FlashAttention-2's kernels).
GpuRates A100() {
  return {.family = GpuFamily::kAmpere,
          .processors = 108,
          .matrix = {0.955, 206, 0.990, 0.749, 2680},
          .causal = {9140, {0.499, 0.597, 0.582, 0.602}, 245, 0.372},
          .encoder = {2710, 0.633, 0.693, 96, 128, 64, 82, 0.692},
          .collectives = &A100Collectives(),
          .basis = Basis::kFitted,
          .source = kKernelTables};
}

GpuRates H100() {
  return {.family = GpuFamily::kHopper,
          .processors = 132,
          .matrix = {0.874, 207, 0.026, 1, 9630},
          .fp8 = MatrixRates{0.816, 648, 0.278, 1, 20000, 5870, 8.59},
          .causal = {14500, {0.528, 0.690, 0.794, 0.815}, 661, 0},
          .encoder = {6780, 0.543, 0.680, 96, 192, 192, 303, 0.845},
          .collectives = &H100Collectives(),
          .basis = Basis::kFitted,
          .source = kKernelTables};
}

GpuRates H200() {
  GpuRates rates = H100();
  rates.matrix = {0.869, 184, 0.009, 1, 4700};
  rates.fp8 = MatrixRates{0.978, 752, 0.396, 1, 20000, 6890, 13.1};
  rates.causal = {14300, {0.513, 0.677, 0.783, 0.803}, 634, 0};
  rates.encoder = {6360, 0.538, 0.683, 96, 192, 192, 311, 0.827};
  return rates;
}

// Head size 192 was not measured: its cost lies between those of 128 and 256.
GpuRates B200() {
  return {.family = GpuFamily::kBlackwell,
          .processors = 148,
          .matrix = {0.735, 73.6, 0.100, 0.989, 14500},
          .fp8 = MatrixRates{0.925, 1360, 1, 0.666, 1570, 5800, 19.1},
          .causal = {11500, {0.364, 0.618, 0.698, 0.746}, 740, 0.877},
          .encoder = {3760, 0.420, 0.660, 128, 256, 128, 480, 0.965},
          .collectives = &B200Collectives(),
          .basis = Basis::kFitted,
          .source = kKernelTables};
}

GpuRates Gb200() {
  GpuRates rates = B200();
  rates.processors = 152;
  rates.matrix = {0.783, 124, 0.147, 0.952, 16000};
  rates.fp8 = MatrixRates{0.944, 1480, 0.264, 0.963, 19000, 6170, 17.9};
  rates.causal = {11000, {0.352, 0.598, 0.685, 0.737}, 772, 0.977};
  rates.encoder = {4350, 0.396, 0.614, 128, 256, 128, 391, 0.927};
  return rates;
}

// Returns the matrix efficiency of a chip's best published product, which is one of whole waves.
double BestEfficiency(const GpuSpec& gpu, double otherwise) {
  return gpu.best_measured_16bit_flops > 0 ? gpu.best_measured_16bit_flops / gpu.dense_16bit_flops
                                           : otherwise;
}

GpuRates Kin(GpuRates rates, const GpuSpec& gpu, const char* of, double processors) {
  rates.matrix.efficiency = BestEfficiency(gpu, rates.matrix.efficiency);
  rates.processors = processors;
  rates.basis = Basis::kAssumed;
  rates.source =
      std::string("no measured kernels of this chip: curves of ") + of +
      (gpu.best_measured_16bit_flops > 0 ? ", matrix rate from its best published one" : "");
  return rates;
}

// Returns rates of a chip that nobody measured: the matrix rate is its best published one or a
// cautious 0.7, attention reaches about two thirds of it, and the shape constants are in the middle
// of those measured.
GpuRates Unmeasured(const GpuSpec& gpu) {
  const double e = BestEfficiency(gpu, 0.7);
  GpuRates rates = A100();
  rates.family = GpuFamily::kOther;
  rates.matrix = {e, 200, 0.5, 0.9, 5000};
  rates.causal.efficiency = {0.55 * e, 0.65 * e, 0.65 * e, 0.65 * e};
  rates.encoder.efficiency_64 = 0.7 * e;
  rates.encoder.efficiency_wide = 0.8 * e;
  rates.basis = Basis::kAssumed;
  rates.source =
      gpu.best_measured_16bit_flops > 0
          ? "no measured kernels: matrix rate from its best published one, the rest by analogy"
          : "no measurement of this chip at all: assumed by analogy";
  return rates;
}

GpuRates ByName(const GpuSpec& gpu) {
  struct Entry {
    std::string_view prefix;
    GpuRates (*rates)();
    const char* kin_of;  // nullptr if this chip itself was measured
    double processors = 0;
  };
  static constexpr Entry kEntries[] = {
      {"a100-sxm", A100, nullptr},
      {"a100-", A100, "A100-SXM", 108},
      {"a800-", A100, "A100-SXM", 108},
      {"h100-sxm-80", H100, nullptr},
      {"h100-pcie", H100, "H100-SXM", 114},
      {"h100-", H100, "H100-SXM", 132},
      {"h800-", H100, "H100-SXM", 132},
      {"gh200-", H100, "H100-SXM", 132},
      {"h200-", H200, nullptr},
      {"b200-", B200, nullptr},
      {"b300-", B200, "B200-SXM", 148},
      {"gb200-", Gb200, nullptr},
      {"l40s", L40s, nullptr},
      {"rtx-4090", L40s, "L40S", 128},
      {"rtx-", L40s, "L40S", 84},
      {"a10g", L40s, "L40S", 80},
  };
  for (const Entry& entry : kEntries) {
    if (!gpu.name.starts_with(entry.prefix)) continue;
    if (entry.kin_of == nullptr) return entry.rates();
    return Kin(entry.rates(), gpu, entry.kin_of, entry.processors);
  }
  return Unmeasured(gpu);
}

bool IsAmpereBoard(const GpuSpec& gpu) {
  return gpu.name.starts_with("rtx-a") || gpu.name.starts_with("a10g");
}

}  // namespace

GpuRates RatesOf(const GpuSpec& gpu) {
  GpuRates rates = ByName(gpu);
  // Boards of the generation before Ada have no fp8, but otherwise Ada's kernels.
  if (IsAmpereBoard(gpu)) {
    rates.family = GpuFamily::kAmpere;
    rates.fp8.reset();
  }
  // Without a link among all GPUs of a node, traffic goes through the host as on L40S.
  if (gpu.scaleup_bytes_per_second <= 0 || gpu.scaleup_pairs_only)
    rates.collectives = &L40sCollectives();
  return rates;
}

double SustainedClock(GpuFamily family, const CostConstants& constants) {
  switch (family) {
    case GpuFamily::kAmpere:
      return constants.ampere_clock;
    case GpuFamily::kAda:
      return constants.ada_clock;
    case GpuFamily::kHopper:
      return constants.hopper_clock;
    case GpuFamily::kBlackwell:
      return constants.blackwell_clock;
    case GpuFamily::kOther:
      break;
  }
  return constants.other_clock;
}

}  // namespace evenkeel::planner
