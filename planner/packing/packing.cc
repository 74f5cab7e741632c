#include "planner/packing/packing.h"

namespace evenkeel::planner {

std::vector<PackSums> SumsOf(const Lengths& lengths, const Packing& packing) {
  std::vector<PackSums> sums(packing.size());
  for (size_t pack = 0; pack < sums.size(); ++pack) {
    PackSums& sum = sums[pack];
    for (const uint32_t sample : packing[pack]) {
      const int64_t tokens = lengths.tokens[sample];
      sum.units += lengths.units[sample];
      sum.tokens += tokens;
      sum.squared += tokens * tokens;
    }
  }
  return sums;
}

}  // namespace evenkeel::planner
