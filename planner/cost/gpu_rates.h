// What a GPU type reaches in practice: the constants of the kernel-time equations
// (docs/COST_MODEL.md, section 2), fitted on measured kernels where there are any.
#ifndef EVENKEEL_PLANNER_COST_GPU_RATES_H_
#define EVENKEEL_PLANNER_COST_GPU_RATES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "planner/catalog/specs.h"
#include "planner/cost/collective_table.h"
#include "planner/cost/cost_constants.h"
#include "planner/job.h"

namespace evenkeel::planner {

enum class GpuFamily { kAmpere, kAda, kHopper, kBlackwell, kOther };

// Matrix products. Efficiencies are shares of the dense peak of the precision.
struct MatrixRates {
  double efficiency = 0;          // e: whole waves of 128 x 256 tiles, short kernels
  double depth_offset = 0;        // k0: filling and draining a tile, in products along k
  double wave_rounding = 0;       // w: share of an unfilled last wave that is paid for
  double square_tile = 1;         // r: rate of 128 x 128 tiles against 128 x 256
  double split_depth_offset = 0;  // ks: in place of k0 where k is split and all waves are full
  // Only fp8: launches and bytes per value of the left operand that quantising it takes.
  double quantise_launch_ns = 0;
  double quantise_bytes = 0;
};

// Causal flash attention, forward.
struct CausalRates {
  double launch_ns = 0;
  std::array<double, 4> efficiency = {};  // for head sizes of 64, 128, 192 and 256; long sequences
  double half_length = 0;  // s0: tokens; a sequence of s takes s (s + s0): prologue of each tile
  double tail = 0;         // share of the longest sequence's last tile that nothing overlaps
};

// Bidirectional flash attention of encoders, forward.
struct EncoderRates {
  double launch_ns = 0;
  double efficiency_64 = 0;  // for head sizes up to 64
  double efficiency_wide = 0;
  int64_t wide_size = 0;                 // what head sizes above 64 are padded to, up to it
  int64_t query_tile = 0, key_tile = 0;  // tokens: lengths round up to them
  double half_length = 0;                // s0: tokens, per tile of queries
  double wave_rounding = 0;              // as in MatrixRates, for tiles of queries
};

struct GpuRates {
  GpuFamily family = GpuFamily::kOther;
  double processors = 0;  // streaming multiprocessors
  MatrixRates matrix;
  std::optional<MatrixRates> fp8;  // against twice the 16-bit peak; unset: no fp8 products
  CausalRates causal;
  EncoderRates encoder;
  const CollectiveTable* collectives = nullptr;
  Basis basis = Basis::kAssumed;
  std::string source;  // in words
};

// Rates by GPU name; a GPU without measured kernels takes those of the nearest measured kin and
// says so.
GpuRates RatesOf(const GpuSpec& gpu);

double SustainedClock(GpuFamily family, const CostConstants& constants);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_GPU_RATES_H_
