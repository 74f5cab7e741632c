// Makes the Histogram message of the contract from counted lengths.
#ifndef EVENKEEL_CLIENT_CLI_DATASET_HISTOGRAM_H_
#define EVENKEEL_CLIENT_CLI_DATASET_HISTOGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/dataset/length_counts.h"
#include "server/convert/dataset/bin_lengths.h"

namespace evenkeel::cli {

using server::kMaxHistogramBytes;

struct BinnedHistogram : server::BinnedLengths {
  std::string Describe() const;  // how it was binned, as a sentence without a full stop
};

// Bins `sorted`, which must come from LengthCounts::Sorted(), by server::BinLengths. Servers bin
// uploads in the same way. With several encoders there are as many columns of units, even of
// zeros.
BinnedHistogram BinLengths(const std::vector<LengthCount>& sorted,
                           int64_t max_bytes = kMaxHistogramBytes, size_t encoders = 1);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_DATASET_HISTOGRAM_H_
