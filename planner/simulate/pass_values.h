// Values per pass, and a reader for them.
#ifndef EVENKEEL_PLANNER_SIMULATE_PASS_VALUES_H_
#define EVENKEEL_PLANNER_SIMULATE_PASS_VALUES_H_

#include <cstdint>
#include <vector>

#include "planner/simulate/schedule.h"

namespace evenkeel::planner {

// Values by (stage, chunk, micro-batch): element (stage x chunks + chunk) x m + micro-batch, or
// stage x chunks + chunk if all micro-batches have the same value. If empty, all values are 0.
using PassValues = std::vector<int64_t>;

class PassTable {
 public:
  PassTable(const PassValues& values, const PipelineShape& shape)
      : values_(values.empty() ? nullptr : values.data()),
        chunks_(static_cast<size_t>(shape.chunks)),
        row_(values.size() / static_cast<size_t>(shape.virtual_stages())),
        step_(row_ == 1 ? 0 : 1) {}

  int64_t at(const Pass& pass) const {
    return at(static_cast<size_t>(pass.stage) * chunks_ + static_cast<size_t>(pass.chunk),
              static_cast<size_t>(pass.micro_batch));
  }
  // `unit` is stage x chunks + chunk.
  int64_t at(size_t unit, size_t micro_batch) const {
    if (values_ == nullptr) return 0;
    return values_[unit * row_ + micro_batch * step_];
  }

  // Returns whether all micro-batches have the same values.
  bool alike() const { return values_ == nullptr || row_ == 1; }

 private:
  const int64_t* values_;
  size_t chunks_, row_, step_;  // values per unit; those from one micro-batch to the next
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_PASS_VALUES_H_
