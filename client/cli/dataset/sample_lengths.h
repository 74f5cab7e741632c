// Samples one by one, in the order of their files.
#ifndef EVENKEEL_CLIENT_CLI_DATASET_SAMPLE_LENGTHS_H_
#define EVENKEEL_CLIENT_CLI_DATASET_SAMPLE_LENGTHS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/packing/packing.h"

namespace evenkeel::cli {

// Bound of the contract (PackDatasetStart in packing.proto).
inline constexpr int64_t kMaxPackedSamples = 2'147'483'647;

struct SampleLengths {
  struct Part {
    std::string path;  // path of the file
    int64_t count = 0;
  };

  // One for each of `tokens`. With several encoders: scaled and added up, by ScaleUnits.
  std::vector<int32_t> units;
  std::vector<int32_t> tokens;
  size_t encoders = 0;                 // number of encoders of which samples have units
  std::vector<int32_t> encoder_units;  // of each sample, where there are several encoders
  std::vector<int32_t> loss_tokens;    // tokens with a loss; empty if all have one
  std::vector<Part> parts;             // in order; they add up to all samples

  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  bool has_units() const {
    return encoders > 1 ||  // `units` may still have to be made
           std::any_of(units.begin(), units.end(), [](int32_t count) { return count > 0; });
  }
  planner::Lengths lengths() const { return {units, tokens, encoder_units}; }
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_DATASET_SAMPLE_LENGTHS_H_
