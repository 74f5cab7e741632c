// Stands in for the data of OmniBal's experiments (arXiv 2407.20761), which are not public: a
// synthetic mix with three parameters, fitted only to the three ratios of the random row of table 3
// (PadRatio .31, DistRatio .34 of the vision part and .30 of the language part, 4 samples per
// micro-batch on 16 ranks). Nothing else was looked at, so what follows from it in other tables is
// a prediction.
#ifndef EVENKEEL_TESTS_VALIDATION_OMNIBAL_MIX_H_
#define EVENKEEL_TESTS_VALIDATION_OMNIBAL_MIX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/job.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

inline constexpr int64_t kOmniBalSamples = 1'200'000;  // samples of an epoch

struct OmniBalMix {
  std::vector<int32_t> units, tokens;  // per sample: tiles, and tokens with 256 for each tile
  Lengths lengths() const { return {units, tokens}; }
};

// Returns the first `samples` of the mix.
OmniBalMix MakeOmniBalMix(size_t samples = 200'000);

// Makes an epoch: the mix, with each of its samples repeated as often as necessary.
Dataset OmniBalDataset();

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_VALIDATION_OMNIBAL_MIX_H_
