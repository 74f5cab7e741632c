#include "planner/packing/packing.h"

namespace evenkeel::planner {

PerEncoder<int64_t> Lengths::UnitsOf(size_t sample) const {
  if (encoder_units.empty()) return units[sample];
  const size_t count = encoders();
  PerEncoder<int64_t> of_encoder;
  for (size_t e = 0; e < count; ++e) of_encoder[e] = encoder_units[sample * count + e];
  return of_encoder;
}

std::vector<PackSums> SumsOf(const Lengths& lengths, const Packing& packing) {
  std::vector<PackSums> sums(packing.size());
  for (size_t pack = 0; pack < sums.size(); ++pack) {
    PackSums& sum = sums[pack];
    for (const uint32_t sample : packing[pack]) {
      const int64_t tokens = lengths.tokens[sample];
      sum.units += lengths.units[sample];
      sum.tokens += tokens;
      sum.squared += tokens * tokens;
      if (!lengths.encoder_units.empty()) sum.encoder_units += lengths.UnitsOf(sample);
    }
    if (lengths.encoder_units.empty()) sum.encoder_units = sum.units;
  }
  return sums;
}

}  // namespace evenkeel::planner
