// Slow twin of the step that partitions are optimised by: every forward and backward of 1F1B one by
// one, from their definition. For tests; never linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_
#define EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_

#include <cstdint>
#include <vector>

namespace evenkeel::planner::reference {

struct NaiveStage {
  int64_t forward = 0, backward = 0, send = 0;
  int64_t sync = 0, optimizer = 0;
};

// When the last backward of each stage ends, with m equal packs.
std::vector<int64_t> LastBackwards(const std::vector<NaiveStage>& stages, int64_t micro_batches);

// All stages sync their gradients when the last one has ended, or each when it has itself; then all
// optimizers run. The slowest counts.
int64_t StepOf(const std::vector<NaiveStage>& stages, int64_t micro_batches, bool sync_alone);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_
