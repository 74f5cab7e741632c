#include "tests/reference/naive_isf.h"

#include <algorithm>

#include "planner/base/random.h"

namespace evenkeel::planner::reference {
namespace {

// Follows the text: "Scan once, adding to the open pack while both sums stay within the caps, else
// close it and open a new one with that sample."
NaivePacks ScanOnce(const NaiveSamples& samples, const std::vector<uint32_t>& order,
                    const NaiveIsfRule& rule) {
  NaivePacks packs;
  for (const uint32_t sample : order) {
    if (!packs.empty()) {
      std::vector<uint32_t> larger = packs.back();
      larger.push_back(sample);
      if (NaiveUnits(samples, larger) <= rule.unit_cap &&
          NaiveTokens(samples, larger) <= rule.token_cap) {
        packs.back() = larger;
        continue;
      }
    }
    packs.push_back({sample});
  }
  return packs;
}

}  // namespace

NaivePacks NaiveIsf(const NaiveSamples& samples, const NaiveIsfRule& rule) {
  NaivePacks kept;
  std::vector<uint32_t> left;
  for (uint32_t i = 0; i < samples.size(); ++i) left.push_back(i);
  Random random(rule.seed);
  for (int64_t t = 0; t < rule.iterations; ++t) {
    if (left.empty()) break;
    random.Shuffle(left);
    for (const std::vector<uint32_t>& pack : ScanOnce(samples, left, rule)) {
      const bool enough_units =
          rule.keep_units != 0 && NaiveUnits(samples, pack) >= rule.keep_units;
      if (!enough_units && NaiveTokens(samples, pack) < rule.keep_tokens) continue;
      kept.push_back(pack);
      for (const uint32_t sample : pack) left.erase(std::find(left.begin(), left.end(), sample));
    }
  }
  for (const std::vector<uint32_t>& pack : ScanOnce(samples, left, rule)) kept.push_back(pack);
  return kept;
}

}  // namespace evenkeel::planner::reference
