// Turns counted lengths into a Histogram message that is small enough for PlanJob.
#ifndef EVENKEEL_SERVER_CONVERT_DATASET_BIN_LENGTHS_H_
#define EVENKEEL_SERVER_CONVERT_DATASET_BIN_LENGTHS_H_

#include <cstdint>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"

namespace evenkeel::server {

// Serialised histograms stay below this size, up to which PlanJob accepts them.
inline constexpr int64_t kMaxHistogramBytes = 65536;

struct BinnedLengths {
  v1::Histogram histogram;  // bins ascending by units and then tokens
  int64_t token_width = 1;  // samples whose tokens / token_width agree share a bin; 1 is exact
  int64_t unit_width = 1;   // token_width of units; above 1 only if wide token bins are not enough
  int64_t distinct = 0;     // distinct input lengths
  int64_t bytes = 0;        // size when serialised

  bool exact() const { return token_width == 1 && unit_width == 1; }
};

// Returns the finest binning that stays below `max_bytes`, over widths of the form 2^k and 3 x 2^k.
// A bin is represented by the rounded mean of its samples; with unit bins, units round down and
// tokens up, so that tokens still cover units x tokens per unit. The result depends only on the
// multiset of samples. docs/ALGORITHMS.md states the rule. `sorted` has distinct lengths,
// ascending. The histogram has units of `encoders` encoders, and of more where samples have them.
BinnedLengths BinLengths(const std::vector<planner::LengthBin>& sorted,
                         int64_t max_bytes = kMaxHistogramBytes, size_t encoders = 1);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_DATASET_BIN_LENGTHS_H_
