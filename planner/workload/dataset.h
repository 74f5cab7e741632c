// The data that a job trains on: counts of samples by their lengths.
#ifndef EVENKEEL_PLANNER_WORKLOAD_DATASET_H_
#define EVENKEEL_PLANNER_WORKLOAD_DATASET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/workload/per_encoder.h"

namespace evenkeel::planner {

// The contract's bounds: of one sample (units for each encoder), and of a dataset.
inline constexpr int64_t kMaxSampleUnits = 1'000'000;
inline constexpr int64_t kMaxSampleTokens = 16'777'216;
inline constexpr int64_t kMaxSamples = 1'000'000'000'000;

// `count` samples of equal lengths: the units (tiles, frames, seconds) that each encoder works on,
// and the tokens in the language model, those that the units become included.
struct LengthBin {
  PerEncoder<int64_t> units;
  int64_t llm_tokens = 0;
  int64_t count = 0;
};

struct Dataset {
  std::vector<LengthBin> bins;  // distinct (units, llm_tokens), ascending
  bool is_default = false;      // the job gave none, and the built-in mix is assumed
  // Weight of one unit of each encoder in packs and caps: about its work, as a multiple of the
  // lightest unit's.
  PerEncoder<int64_t> unit_scales = 1;

  // Returns the number of encoders whose units the bins count, at least 1.
  size_t encoders() const {
    size_t count = kEncodersAtMost;
    while (count > 1 && unit_scales[count - 1] == 0) --count;
    return count;
  }

  struct Totals {
    int64_t samples = 0;
    double tokens = 0;
    int64_t longest_tokens = 0;  // of one sample
  };
  Totals totals() const {
    Totals all;
    for (const LengthBin& bin : bins) {
      all.samples += bin.count;
      all.tokens += static_cast<double>(bin.count) * static_cast<double>(bin.llm_tokens);
      all.longest_tokens = std::max(all.longest_tokens, bin.llm_tokens);
    }
    return all;
  }

  bool has_units() const {
    return std::any_of(bins.begin(), bins.end(),
                       [](const LengthBin& bin) { return bin.units != PerEncoder<int64_t>(); });
  }

  // Returns the units of a bin, each times its scale.
  int64_t ScaledUnits(const LengthBin& bin) const { return bin.units.Dot(unit_scales); }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_WORKLOAD_DATASET_H_
