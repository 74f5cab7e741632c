#include "planner/packing/columns.h"

#include <algorithm>

namespace evenkeel::planner {

Columns ColumnsOf(const Lengths& lengths, const Caps& caps, std::span<const uint32_t> samples) {
  const size_t encoders = lengths.encoders();
  const auto value = [&](uint32_t sample, size_t column) {
    if (column == 0) return lengths.tokens[sample];
    if (column == 1) return lengths.units[sample];
    if (column == 2 + encoders) return lengths.level_times[sample];
    return lengths.encoder_units[sample * encoders + column - 2];
  };
  std::vector<size_t> used;
  Columns columns;
  const size_t columns_at_most = 2 + encoders + (lengths.level_times.empty() ? 0 : 1);
  for (size_t column = 0; column < columns_at_most; ++column) {
    if (std::all_of(samples.begin(), samples.end(),
                    [&](uint32_t sample) { return value(sample, column) == 0; }))
      continue;
    used.push_back(column);
    columns.caps.push_back(column == 0 ? caps.tokens : column == 1 ? caps.units : kNoCap);
  }
  columns.count = used.size();
  columns.values.reserve(used.size() * samples.size());
  for (const uint32_t sample : samples)
    for (const size_t column : used) columns.values.push_back(value(sample, column));
  return columns;
}

}  // namespace evenkeel::planner
