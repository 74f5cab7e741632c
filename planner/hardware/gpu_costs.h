// The rates that a GPU type reaches in practice: the constants of the kernel-time equations
// (docs/COST_MODEL.md, section 2), the times of collectives and the traits of its generation.
#ifndef EVENKEEL_PLANNER_HARDWARE_GPU_COSTS_H_
#define EVENKEEL_PLANNER_HARDWARE_GPU_COSTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "planner/base/basis.h"
#include "planner/base/number_format.h"
#include "planner/hardware/collective_table.h"

namespace evenkeel::planner {

// kOther means that no training runs show the sustained clock.
enum class GpuGeneration { kAmpere, kAda, kHopper, kBlackwell, kOther };

// Matrix products of one number format. Efficiencies are shares of its dense peak (PeakRatioOf).
struct MatrixRates {
  double efficiency = 0;          // e: whole waves of 128 x 256 tiles, short kernels
  double depth_offset = 0;        // k0: cost of filling and draining a tile, in products along k
  double wave_rounding = 0;       // w: share of an unfilled last wave that still costs time
  double square_tile = 1;         // r: rate of 128 x 128 tiles over that of 128 x 256 tiles
  double split_depth_offset = 0;  // ks: replaces k0 if k is split and all waves are full
  // Launch time and bytes moved per value for quantising the left operand. 0 for 16 bits.
  double quantise_launch_ns = 0;
  double quantise_bytes = 0;
};

// Formats of fewer than 16 bits; nullopt where the GPU has no such products.
struct LowPrecisionRates {
  std::optional<MatrixRates> fp8, fp8_block, mxfp8, nvfp4;
  // Products can read an fp8 operand in either layout, so a weight needs one copy instead of two.
  bool fp8_any_layout = false;

  // Returns nullptr if the GPU has no such products, and for k16Bit.
  const MatrixRates* RatesOf(NumberFormat format) const {
    const auto rates = [](const std::optional<MatrixRates>& of) { return of ? &*of : nullptr; };
    switch (format) {
      case NumberFormat::kFp8:
        return rates(fp8);
      case NumberFormat::kFp8Block:
        return rates(fp8_block);
      case NumberFormat::kMxfp8:
        return rates(mxfp8);
      case NumberFormat::kNvfp4:
        return rates(nvfp4);
      case NumberFormat::k16Bit:
        break;
    }
    return nullptr;
  }
};

// Causal flash attention, forward.
struct CausalRates {
  double launch_ns = 0;
  std::array<double, 4> efficiency = {};  // for head sizes 64, 128, 192 and 256; long sequences
  // s0, tokens: a sequence of s tokens costs s (s + s0), for each tile's prologue
  double half_length = 0;
  double tail = 0;  // share of the longest sequence's last tile that overlaps with nothing
};

// Bidirectional flash attention of encoders, forward.
struct EncoderRates {
  double launch_ns = 0;
  double efficiency_64 = 0;  // for head sizes up to 64
  double efficiency_wide = 0;
  int64_t wide_size = 0;                 // head sizes above 64, up to this, are padded to it
  int64_t query_tile = 0, key_tile = 0;  // tokens; lengths are rounded up to a multiple
  double half_length = 0;                // s0: tokens, per tile of queries
  double wave_rounding = 0;              // as in MatrixRates, for tiles of queries
};

struct GpuCosts {
  GpuGeneration generation = GpuGeneration::kOther;
  double processors = 1;        // streaming multiprocessors, or compute units
  int64_t workspace_bytes = 0;  // of one cuBLAS handle in TransformerEngine
  bool beyond_flash2 = false;   // its best attention kernels are quicker than FlashAttention-2
  // Time of products with the instructions that take rows of any alignment, over that of the
  // generation's own.
  double any_alignment_slowdown = 1;
  MatrixRates matrix;
  LowPrecisionRates low;
  CausalRates causal;
  EncoderRates encoder;
  double scan_efficiency = 0.09;  // share of the 16-bit peak that scans in chunks reach
  const CollectiveTable* collectives = nullptr;  // required
  Basis basis = Basis::kAssumed;
  std::string source;  // text for a person
  // The catalogue's type whose costs a described GPU has. Empty for a type of the catalogue.
  std::string like;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_GPU_COSTS_H_
