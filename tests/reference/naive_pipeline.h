// Slow twin of simulate/pipeline. It finds longest paths over the explicit graph of passes, sends,
// buckets and optimizers, by relaxation until nothing changes. It shares only the input's type;
// orders are sorted by separate keys. For tests; never linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_NAIVE_PIPELINE_H_
#define EVENKEEL_TESTS_REFERENCE_NAIVE_PIPELINE_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "planner/simulate/pipeline.h"

namespace evenkeel::planner::reference {

struct NaiveRun {
  int64_t pipeline_ns = 0;
  int64_t step_ns = 0;
  // (kind as 'F', 'B' or 'W', stage, chunk, micro-batch) -> start and end.
  std::map<std::tuple<char, int64_t, int64_t, int64_t>, std::pair<int64_t, int64_t>> passes;
  std::vector<int64_t> sync_end_ns;  // by stage; the end of its last pass if nothing is reduced
};

// Runs one rank. If communication overlaps, the overlapping passes and the communication must be
// multiples of the numbers of buckets, so that a bucket's share is a whole number.
NaiveRun LongestPaths(const PipelineSpec& spec);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_PIPELINE_H_
