// Slow twin of PipelineEnd (simulate/pipeline) under 1F1B. It finds the longest path over the
// explicit graph of forwards and backwards, by relaxation until nothing changes. For tests; never
// linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_NAIVE_ONE_F_ONE_B_H_
#define EVENKEEL_TESTS_REFERENCE_NAIVE_ONE_F_ONE_B_H_

#include <cstdint>
#include <vector>

namespace evenkeel::planner::reference {

// Returns when the last backward ends, in ns. Rows are stages, and columns are packs. send[s] is
// the one-way time from stage s to the next.
int64_t LongestPathOneFOneB(const std::vector<std::vector<int64_t>>& forward,
                            const std::vector<std::vector<int64_t>>& backward,
                            const std::vector<int64_t>& send);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_ONE_F_ONE_B_H_
