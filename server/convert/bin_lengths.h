// From counted lengths to a Histogram message that is small enough for PlanJob.
#ifndef EVENKEEL_SERVER_CONVERT_BIN_LENGTHS_H_
#define EVENKEEL_SERVER_CONVERT_BIN_LENGTHS_H_

#include <cstdint>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"

namespace evenkeel::server {

// What PlanJob accepts of a serialised histogram, less one.
inline constexpr int64_t kMaxHistogramBytes = 65536;

struct BinnedLengths {
  v1::Histogram histogram;  // bins ascending by units and then tokens
  int64_t token_width = 1;  // samples whose tokens / token_width agree share a bin; 1: exact
  int64_t unit_width = 1;   // likewise for units; above 1 only where token bins alone do not do
  int64_t distinct = 0;     // distinct lengths that went in
  int64_t bytes = 0;        // serialised

  bool exact() const { return token_width == 1 && unit_width == 1; }
};

// The finest binning that stays below `max_bytes`, over widths of the form 2^k and 3 x 2^k. A bin
// is represented by the rounded mean of its samples; with unit bins, units round down and tokens
// up, so that tokens still cover units x tokens per unit. Depends on the multiset of samples only.
// docs/ALGORITHMS.md states the rule. `sorted`: distinct lengths, ascending.
BinnedLengths BinLengths(const std::vector<planner::LengthBin>& sorted,
                         int64_t max_bytes = kMaxHistogramBytes);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_BIN_LENGTHS_H_
