// The passes of all stages in one order.
#ifndef EVENKEEL_PLANNER_SIMULATE_MERGED_PASSES_H_
#define EVENKEEL_PLANNER_SIMULATE_MERGED_PASSES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/simulate/schedule.h"

namespace evenkeel::planner {

// Takes passes one after the other from the orders of the stages. A pass is taken as soon as all
// passes that it waits for have been taken.
class MergedPasses {
 public:
  MergedPasses(const PipelineShape& shape, const Stop& stop)
      : stages_(static_cast<size_t>(shape.stages)),
        last_(static_cast<size_t>(shape.virtual_stages()) - 1),
        stop_(stop),
        forwards_(last_ + 1),
        backwards_(last_ + 1) {
    for (int64_t s = 0; s < shape.stages; ++s) passes_.emplace_back(shape, s);
  }

  // Calls `take(pass, q)` with each pass and its virtual stage.
  template <typename Take>
  void Run(Take take) {
    for (bool any = true; any;) {
      any = false;
      for (StagePasses& stage : passes_) {
        int64_t taken = 0;
        for (; !stage.done(); stage.Next(), ++taken) {
          const Pass& pass = stage.now();
          const size_t q =
              static_cast<size_t>(pass.chunk) * stages_ + static_cast<size_t>(pass.stage);
          if (!Ready(pass, q)) break;
          take(pass, q);
        }
        any = any || taken > 0;
        stop_.Spend(kUnitsPerPass * taken + 1);
      }
    }
  }

 private:
  static constexpr int64_t kUnitsPerPass = 10;  // units of Stop::Spend

  // Returns whether the passes before `pass` are done. Every virtual stage takes its micro-batches
  // in ascending order, forward and backward, so a count says which are done.
  bool Ready(const Pass& pass, size_t q) {
    if (pass.kind == PassKind::kWeightGradient) return true;
    if (pass.kind == PassKind::kForward) {
      if (q > 0 && forwards_[q - 1] <= pass.micro_batch) return false;
      ++forwards_[q];
      return true;
    }
    if ((q == last_ ? forwards_[q] : backwards_[q + 1]) <= pass.micro_batch) return false;
    ++backwards_[q];
    return true;
  }

  const size_t stages_, last_;
  const Stop stop_;
  std::vector<StagePasses> passes_;            // by stage
  std::vector<int64_t> forwards_, backwards_;  // by virtual stage: number taken
};

// Returns the passes of all stages: each pass comes after those it waits for, and the passes of
// each stage stay in its order. A forward waits for that of the virtual stage before; a backward
// waits for that of the virtual stage after it or, on the last one, for its own forward; a weight
// gradient waits for its backward.
std::vector<Pass> WorkOrder(const PipelineShape& shape, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_MERGED_PASSES_H_
