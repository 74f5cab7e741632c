#include "tests/planner/long_mix.h"

#include <cmath>
#include <map>
#include <numbers>

#include "planner/base/random.h"

namespace evenkeel::planner {

LongMix MakeLongMix(const LongMixParameters& parameters) {
  Random random(parameters.seed);
  const auto uniform = [&] { return (static_cast<double>(random.Next() >> 11) + 0.5) * 0x1p-53; };
  LongMix mix;
  while (mix.tokens.size() < parameters.short_samples) {
    const double normal =
        std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    const double tokens = parameters.short_median * std::exp(parameters.short_sigma * normal);
    if (tokens <= parameters.short_most)
      mix.tokens.push_back(static_cast<int32_t>(std::ceil(tokens)));
  }
  const double range = parameters.long_most - parameters.long_least;
  for (size_t i = 0; i < parameters.long_samples; ++i) {
    mix.tokens.push_back(parameters.long_least +
                         static_cast<int32_t>(std::ceil(range * uniform())));
  }
  random.Shuffle(mix.tokens);
  mix.units.resize(mix.tokens.size());
  return mix;
}

Dataset LongMixDataset(const LongMix& mix) {
  std::map<int32_t, int64_t> counts;
  for (const int32_t tokens : mix.tokens) ++counts[tokens];
  Dataset dataset;
  for (const auto& [tokens, count] : counts) dataset.bins.push_back({0, tokens, count});
  return dataset;
}

double TokenShareAbove(const LongMix& mix, int64_t length) {
  double all = 0, above = 0;
  for (const int32_t tokens : mix.tokens) {
    all += tokens;
    if (tokens > length) above += tokens;
  }
  return above / all;
}

}  // namespace evenkeel::planner
