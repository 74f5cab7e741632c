// Samples as rows of columns, for packing that works with any number of them.
#ifndef EVENKEEL_PLANNER_PACKING_COLUMNS_H_
#define EVENKEEL_PLANNER_PACKING_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "planner/packing/packing.h"

namespace evenkeel::planner {

inline constexpr int64_t kNoCap = std::numeric_limits<int64_t>::max();

struct Columns {
  size_t count = 0;             // columns
  std::vector<int32_t> values;  // sample by sample, >= 0
  std::vector<int64_t> caps;    // by column: the most that a pack holds, or kNoCap

  size_t samples() const { return count == 0 ? 0 : values.size() / count; }
  std::span<const int32_t> operator[](size_t sample) const {
    return {values.data() + sample * count, count};
  }
};

// Returns the columns of some samples: units and tokens under their caps and, where there are
// several encoders, the units of each, and Lengths::level_times, which have no cap. A column of
// zeros is left out.
Columns ColumnsOf(const Lengths& lengths, const Caps& caps, std::span<const uint32_t> samples);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_COLUMNS_H_
