// Samples with images at native resolution, drawn after Qwen2.5-VL: sides rounded to 28 pixels, an
// image of 4 to 1280 tokens of 4 patches each, text of some hundred tokens.
#ifndef EVENKEEL_TESTS_PLANNER_PACKING_NATIVE_SIZES_H_
#define EVENKEEL_TESTS_PLANNER_PACKING_NATIVE_SIZES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct NativeSizes {
  std::vector<int32_t> units, tokens, encoder_units;
  Lengths lengths() const { return {units, tokens, encoder_units}; }
};

// Returns a value that is spread around `median` over a factor of about 8, denser in the middle.
inline int64_t Spread(Random& random, int64_t median) {
  int64_t value = median * 64;
  for (int i = 0; i < 12; ++i) value = random.Below(2) == 0 ? value * 7 / 6 : value * 6 / 7;
  return value * static_cast<int64_t>(900 + random.Below(201)) / (64 * 1000);
}

// Nine of ten samples have an image. With audio, four of ten also have a clip, of frames that weigh
// half as much as a patch and give a token for four of them.
inline NativeSizes DrawNativeSizes(size_t samples, bool audio, uint64_t seed) {
  Random random(seed);
  NativeSizes drawn;
  for (size_t i = 0; i < samples; ++i) {
    int64_t image = 0, frames = 0;
    if (random.Below(10) > 0) {
      const int64_t wide = std::max<int64_t>(2, Spread(random, 560) / 28);
      const int64_t high = std::clamp<int64_t>(Spread(random, 560) / 28, 2, 1280 / wide);
      image = wide * high;
    }
    if (audio && random.Below(10) < 4) frames = std::clamp<int64_t>(Spread(random, 300), 50, 1500);
    const int64_t text = std::clamp<int64_t>(Spread(random, 300), 8, 4096);
    drawn.units.push_back(static_cast<int32_t>(4 * image * (audio ? 2 : 1) + frames));
    drawn.tokens.push_back(static_cast<int32_t>(image + frames / 4 + text));
    if (!audio) continue;
    drawn.encoder_units.push_back(static_cast<int32_t>(4 * image));
    drawn.encoder_units.push_back(static_cast<int32_t>(frames));
  }
  return drawn;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_PLANNER_PACKING_NATIVE_SIZES_H_
