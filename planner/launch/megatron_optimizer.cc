#include "planner/launch/megatron_optimizer.h"

#include <algorithm>
#include <array>

#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

// megatron/training/arguments.py: --optimizer, --use-precision-aware-optimizer.
constexpr std::array kMegatronOptimizers = {
    MegatronOptimizer{.optimizer = Optimizer::kAdam},
    MegatronOptimizer{.optimizer = Optimizer::kAdam16BitMoments, .moments = "bf16"},
    MegatronOptimizer{.optimizer = Optimizer::kAdam8BitMoments, .moments = "fp8"},
    MegatronOptimizer{.optimizer = Optimizer::kSgd, .name = "sgd", .sharded_name = "sgd"},
    MegatronOptimizer{.optimizer = Optimizer::kMuon,
                      .name = "muon",
                      .sharded_name = "dist_muon",
                      .distributed = false},
};

}  // namespace

const MegatronOptimizer* MegatronOptimizerOf(Optimizer optimizer) {
  const auto found =
      std::find_if(kMegatronOptimizers.begin(), kMegatronOptimizers.end(),
                   [&](const MegatronOptimizer& record) { return record.optimizer == optimizer; });
  return found == kMegatronOptimizers.end() ? nullptr : &*found;
}

MegatronOptimizer OptimizerSetFor(const Training& training) {
  const MegatronOptimizer* optimizer = MegatronOptimizerOf(training.optimizer);
  return optimizer == nullptr ? MegatronOptimizer{} : *optimizer;
}

bool IsPrecisionAware(const Training& training) {
  return OptimizerSetFor(training).moments != nullptr ||
         StoresRemainders(training, RecordOf(training.optimizer));
}

}  // namespace evenkeel::planner
