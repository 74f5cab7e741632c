// From counted lengths to the Histogram message of the contract, and back.
#ifndef EVENKEEL_CLIENT_CLI_HISTOGRAM_H_
#define EVENKEEL_CLIENT_CLI_HISTOGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/length_counts.h"
#include "evenkeel/v1/job.pb.h"

namespace evenkeel::cli {

// A serialised histogram stays below this.
inline constexpr int64_t kMaxHistogramBytes = 65536;

struct BinnedHistogram {
  v1::Histogram histogram;  // bins ascending by units and then tokens
  int64_t token_width = 1;  // samples whose tokens / token_width agree share a bin; 1: exact
  int64_t unit_width = 1;   // likewise for units; above 1 only where token bins alone do not do
  int64_t distinct = 0;     // distinct lengths that went in
  int64_t bytes = 0;        // serialised

  bool exact() const { return token_width == 1 && unit_width == 1; }
  std::string Describe() const;  // how it was binned, in a sentence without full stop
};

// The finest binning that stays below `max_bytes`, over widths of the form 2^k and 3 x 2^k. A bin
// is represented by the rounded mean of its samples; with unit bins, units round down and tokens
// up, so that tokens still cover units x tokens per unit. Depends on the multiset of samples only.
// `sorted` as from LengthCounts::Sorted().
BinnedHistogram BinLengths(const std::vector<LengthCount>& sorted,
                           int64_t max_bytes = kMaxHistogramBytes);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_HISTOGRAM_H_
