#include "planner/packing/sample.h"

#include <algorithm>
#include <numeric>

namespace evenkeel::planner {

int64_t SampleCount(const Dataset& dataset) {
  int64_t total = 0;
  for (const LengthBin& bin : dataset.bins) total += bin.count;
  return total;
}

DrawnSamples DrawSamples(const Dataset& dataset, int64_t at_most) {
  const int64_t total = SampleCount(dataset);
  const int64_t draws = std::min(total, at_most);
  const size_t bins = dataset.bins.size();
  std::vector<int64_t> counts(bins);
  std::vector<double> remainders(bins);
  int64_t drawn = 0;
  for (size_t i = 0; i < bins; ++i) {
    const double share = static_cast<double>(dataset.bins[i].count) / static_cast<double>(total);
    const double exact = share * static_cast<double>(draws);
    counts[i] = std::min(dataset.bins[i].count, static_cast<int64_t>(exact));
    remainders[i] = exact - static_cast<double>(counts[i]);
    drawn += counts[i];
  }
  std::vector<size_t> order(bins);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t k = 0; drawn < draws; k = (k + 1) % bins) {
    const size_t i = order[k];
    if (counts[i] == dataset.bins[i].count) continue;
    ++counts[i];
    ++drawn;
  }
  DrawnSamples samples;
  for (size_t i = 0; i < bins; ++i) {
    const LengthBin& bin = dataset.bins[i];
    samples.units.insert(samples.units.end(), static_cast<size_t>(counts[i]),
                         static_cast<int32_t>(bin.units));
    samples.tokens.insert(samples.tokens.end(), static_cast<size_t>(counts[i]),
                          static_cast<int32_t>(bin.llm_tokens));
  }
  return samples;
}

}  // namespace evenkeel::planner
