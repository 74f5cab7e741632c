#include "tests/validation/omnibal_mix.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

// There are 1 to 5 tiles, because the random row's largest micro-batch has 20K vision tokens: four
// samples of five tiles of 1K. The mix has three parameters for the row's three ratios.
constexpr double kAnotherTile = 0.644;  // share of samples that get another tile
constexpr double kMedianText = 419;     // log-normal tokens of text, in addition to 256 per tile
constexpr double kTextSigma = 0.504;
constexpr int32_t kTilesAtMost = 5, kTokensPerTile = 256, kTokensAtMost = 4096;

}  // namespace

OmniBalMix MakeOmniBalMix(size_t samples) {
  Random random(1);
  const auto uniform = [&] { return (static_cast<double>(random.Next() >> 11) + 0.5) * 0x1p-53; };
  OmniBalMix mix;
  for (size_t i = 0; i < samples; ++i) {
    int32_t tiles = 1;
    while (tiles < kTilesAtMost && uniform() < kAnotherTile) ++tiles;
    const double normal =
        std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    const double text = kMedianText * std::exp(kTextSigma * normal);
    mix.units.push_back(tiles);
    mix.tokens.push_back(
        std::min(kTokensAtMost, kTokensPerTile * tiles + static_cast<int32_t>(text)));
  }
  return mix;
}

Dataset OmniBalDataset() {
  const OmniBalMix mix = MakeOmniBalMix();
  const int64_t times = kOmniBalSamples / static_cast<int64_t>(mix.units.size());
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (size_t i = 0; i < mix.units.size(); ++i) counts[{mix.units[i], mix.tokens[i]}] += times;
  Dataset dataset;
  for (const auto& [lengths, count] : counts)
    dataset.bins.push_back({lengths.first, lengths.second, count});
  return dataset;
}

}  // namespace evenkeel::planner
