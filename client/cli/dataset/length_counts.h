// Samples counted by length: the content of length files. Memory depends on distinct lengths, not
// on samples.
#ifndef EVENKEEL_CLIENT_CLI_DATASET_LENGTH_COUNTS_H_
#define EVENKEEL_CLIENT_CLI_DATASET_LENGTH_COUNTS_H_

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/workload/dataset.h"
#include "planner/workload/per_encoder.h"

namespace evenkeel::cli {

// Bounds of the contract (Histogram in job.proto).
inline constexpr int64_t kMaxUnits = planner::kMaxSampleUnits;
inline constexpr int64_t kMaxTokens = planner::kMaxSampleTokens;
inline constexpr int64_t kMaxSamples = planner::kMaxSamples;

// `count` samples of `units` encoder units and `tokens` language-model tokens.
struct LengthCount {
  planner::PerEncoder<int64_t> units;
  int64_t tokens = 0;
  int64_t count = 0;
  friend bool operator==(const LengthCount&, const LengthCount&) = default;
};

class LengthCounts {
 public:
  // Adds samples whose values are within the bounds above. Readers check this before they add.
  void Add(const planner::PerEncoder<int64_t>& units, int64_t tokens, int64_t count = 1) {
    Key key{static_cast<int32_t>(tokens)};
    for (size_t e = 0; e < planner::kEncodersAtMost; ++e)
      key[e + 1] = static_cast<int32_t>(units[e]);
    counts_[key] += count;
    samples_ += count;
  }
  void set_encoders(size_t encoders) { encoders_ = encoders; }

  int64_t samples() const { return samples_; }
  size_t encoders() const { return encoders_; }  // 0: no sample has units

  // Returns the distinct lengths, ascending by units and then tokens. The order of addition does
  // not matter.
  std::vector<LengthCount> Sorted() const;

 private:
  using Key = std::array<int32_t, 1 + planner::kEncodersAtMost>;  // tokens, and units

  absl::flat_hash_map<Key, int64_t> counts_;
  int64_t samples_ = 0;
  size_t encoders_ = 0;
};

// Figures of one dimension.
struct LengthSummary {
  int64_t min = 0;
  int64_t max = 0;
  double mean = 0;
  std::vector<int64_t> percentiles;  // nearest rank, one for each that was asked for
};

// Summarises the units of an encoder. `sorted` comes from LengthCounts::Sorted() and is not empty.
// Percentiles are in percent, 0 to 100.
LengthSummary SummarizeUnits(const std::vector<LengthCount>& sorted,
                             const std::vector<double>& percentiles, size_t encoder = 0);
LengthSummary SummarizeTokens(const std::vector<LengthCount>& sorted,
                              const std::vector<double>& percentiles);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_DATASET_LENGTH_COUNTS_H_
