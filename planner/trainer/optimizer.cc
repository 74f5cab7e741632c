#include "planner/trainer/optimizer.h"

#include <algorithm>
#include <array>

namespace evenkeel::planner {
namespace {

// Moments of 8 bits have a scale of 4 bytes for 256 values each.
constexpr double kMomentsOf8Bits = 2 * (1 + 4.0 / 256);

constexpr std::array<OptimizerRecord, 9> kOptimizers = {{
    {.optimizer = Optimizer::kAdam,
     .title = "Adam",
     .host_update = true,
     .weight_remainders = true,
     .source = "Rajbhandari 2020, section 3.1"},
    {.optimizer = Optimizer::kAdam16BitMoments,
     .title = "Adam with moments in 16 bits",
     .moment_bytes = 4,
     .moved_bytes = 22,
     .weight_remainders = true,
     .source = "Megatron-Core's precision-aware optimizer, exp_avg_dtype bf16"},
    {.optimizer = Optimizer::kAdam8BitMoments,
     .title = "Adam with moments in 8 bits",
     .moment_bytes = kMomentsOf8Bits,
     .moved_bytes = 14 + 2 * kMomentsOf8Bits,
     .weight_remainders = true,
     .source = "Dettmers 2022, 8-bit optimizers: blocks of 256 values"},
    {.optimizer = Optimizer::kAdam16Bit,
     .title = "Adam in 16 bits, without master weights",
     .master_bytes = 0,
     .moment_bytes = 4,
     .moved_bytes = 14,
     .source = "weights and moments in bfloat16, as torchtune's recipes of one GPU"},
    {.optimizer = Optimizer::kAdam8Bit,
     .title = "Adam with moments in 8 bits, without master weights",
     .master_bytes = 0,
     .moment_bytes = kMomentsOf8Bits,
     .moved_bytes = 6 + 2 * kMomentsOf8Bits,
     .source = "Dettmers 2022 on weights in bfloat16"},
    {.optimizer = Optimizer::kAdafactor,
     .title = "Adafactor without momentum",
     .moment_bytes = 0,
     .moved_bytes = 18,
     .source = "Shazeer 2018: second moments by rows and columns; the gradient is read twice"},
    {.optimizer = Optimizer::kLion,
     .title = "Lion",
     .moment_bytes = 4,
     .moved_bytes = 22,
     .source = "Chen 2023: one moment"},
    {.optimizer = Optimizer::kSgd,
     .title = "SGD with momentum",
     .moment_bytes = 4,
     .moved_bytes = 22,
     .source = "one moment"},
    {.optimizer = Optimizer::kMuon,
     .title = "Muon",
     .moment_bytes = 4,
     .moved_bytes = 22,
     .whole_matrices = true,
     .source = "Jordan 2024; Megatron-Core's muon: five Newton-Schulz steps on each rank's shard"},
}};

}  // namespace

std::span<const OptimizerRecord> Optimizers() { return kOptimizers; }

const OptimizerRecord& RecordOf(Optimizer optimizer) {
  return *std::find_if(kOptimizers.begin(), kOptimizers.end(), [&](const OptimizerRecord& record) {
    return record.optimizer == optimizer;
  });
}

}  // namespace evenkeel::planner
