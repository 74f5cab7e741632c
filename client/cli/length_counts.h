// Samples counted by length: the content of length files. Memory depends on distinct lengths, not
// on samples.
#ifndef EVENKEEL_CLIENT_CLI_LENGTH_COUNTS_H_
#define EVENKEEL_CLIENT_CLI_LENGTH_COUNTS_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

namespace evenkeel::cli {

// Bounds of the contract (Histogram in job.proto).
inline constexpr int64_t kMaxUnits = 1'000'000;
inline constexpr int64_t kMaxTokens = 16'777'216;
inline constexpr int64_t kMaxSamples = 1'000'000'000'000;

// `count` samples of `units` encoder units and `tokens` language-model tokens.
struct LengthCount {
  int64_t units = 0;
  int64_t tokens = 0;
  int64_t count = 0;
  friend bool operator==(const LengthCount&, const LengthCount&) = default;
};

class LengthCounts {
 public:
  // Adds samples whose values are within the bounds above. Readers check this before they add.
  void Add(int64_t units, int64_t tokens, int64_t count = 1) {
    counts_[units << 32 | tokens] += count;
    samples_ += count;
  }

  int64_t samples() const { return samples_; }

  // Returns the distinct lengths, ascending by units and then tokens. The order of addition does
  // not matter.
  std::vector<LengthCount> Sorted() const;

 private:
  absl::flat_hash_map<int64_t, int64_t> counts_;
  int64_t samples_ = 0;
};

// Figures of one dimension.
struct LengthSummary {
  int64_t min = 0;
  int64_t max = 0;
  double mean = 0;
  std::vector<int64_t> percentiles;  // nearest rank, one for each that was asked for
};

// Summarises the units. `sorted` comes from LengthCounts::Sorted() and is not empty. Percentiles
// are in percent, 0 to 100.
LengthSummary SummarizeUnits(const std::vector<LengthCount>& sorted,
                             const std::vector<double>& percentiles);
LengthSummary SummarizeTokens(const std::vector<LengthCount>& sorted,
                              const std::vector<double>& percentiles);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_LENGTH_COUNTS_H_
