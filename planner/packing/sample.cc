#include "planner/packing/sample.h"

#include <algorithm>

#include "planner/base/integers.h"

namespace evenkeel::planner {

int64_t SampleCount(const Dataset& dataset) {
  int64_t total = 0;
  for (const LengthBin& bin : dataset.bins) total += bin.count;
  return total;
}

DrawnSamples DrawSamples(const Dataset& dataset, int64_t at_most) {
  const int64_t total = SampleCount(dataset);
  const int64_t draws = std::min(total, at_most);
  // Draw k is the sample at the middle of the k-th of `draws` equal parts.
  const auto drawn_before = [&](int64_t samples) {
    return static_cast<int64_t>((Wide{2} * samples * draws + total) / (Wide{2} * total));
  };
  DrawnSamples samples;
  int64_t before = 0;
  for (const LengthBin& bin : dataset.bins) {
    const size_t count =
        static_cast<size_t>(drawn_before(before + bin.count) - drawn_before(before));
    before += bin.count;
    samples.units.insert(samples.units.end(), count,
                         static_cast<int32_t>(dataset.ScaledUnits(bin)));
    samples.tokens.insert(samples.tokens.end(), count, static_cast<int32_t>(bin.llm_tokens));
    for (size_t i = 0; dataset.encoders() > 1 && i < count; ++i)
      for (size_t e = 0; e < dataset.encoders(); ++e)
        samples.encoder_units.push_back(static_cast<int32_t>(bin.units[e]));
  }
  return samples;
}

}  // namespace evenkeel::planner
