#include "tests/reference/naive_isf.h"

#include <algorithm>

#include "planner/base/random.h"

namespace evenkeel::planner::reference {
namespace {

using Samples = std::vector<std::pair<int64_t, int64_t>>;
using Packs = std::vector<std::vector<int32_t>>;

int64_t Units(const Samples& samples, const std::vector<int32_t>& pack) {
  int64_t sum = 0;
  for (const int32_t i : pack) sum += samples[static_cast<size_t>(i)].first;
  return sum;
}

int64_t Tokens(const Samples& samples, const std::vector<int32_t>& pack) {
  int64_t sum = 0;
  for (const int32_t i : pack) sum += samples[static_cast<size_t>(i)].second;
  return sum;
}

bool WithinCaps(const Samples& samples, const std::vector<int32_t>& pack,
                const NaiveIsfRule& rule) {
  return Units(samples, pack) <= rule.unit_cap && Tokens(samples, pack) <= rule.token_cap;
}

// "Scan once, adding to the open pack while both sums stay within the caps, else close it and open
// a new one with that sample."
Packs ScanOnce(const Samples& samples, const std::vector<int32_t>& order,
               const NaiveIsfRule& rule) {
  Packs packs;
  for (const int32_t sample : order) {
    if (!packs.empty()) {
      std::vector<int32_t> larger = packs.back();
      larger.push_back(sample);
      if (WithinCaps(samples, larger, rule)) {
        packs.back() = larger;
        continue;
      }
    }
    packs.push_back({sample});
  }
  return packs;
}

}  // namespace

Packs NaiveIsf(const Samples& samples, const NaiveIsfRule& rule) {
  Packs kept;
  std::vector<int32_t> left;
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::vector<int32_t> alone = {static_cast<int32_t>(i)};
    if (WithinCaps(samples, alone, rule)) {
      left.push_back(alone[0]);
    } else {
      kept.push_back(alone);
    }
  }
  Random random(rule.seed);
  for (int64_t t = 0; t < rule.iterations; ++t) {
    if (left.empty()) break;
    random.Shuffle(left);
    for (const std::vector<int32_t>& pack : ScanOnce(samples, left, rule)) {
      const int64_t units = Units(samples, pack), tokens = Tokens(samples, pack);
      const bool enough_units = rule.keep_units != 0 && units >= rule.keep_units;
      if (!enough_units && tokens < rule.keep_tokens) continue;
      kept.push_back(pack);
      for (const int32_t sample : pack) left.erase(std::find(left.begin(), left.end(), sample));
    }
  }
  for (const std::vector<int32_t>& pack : ScanOnce(samples, left, rule)) kept.push_back(pack);
  return kept;
}

}  // namespace evenkeel::planner::reference
