// Slow twin of the step for which partitions are optimised. It computes every forward and backward
// of 1F1B one by one, from their definition. For tests; never linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_
#define EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_

#include <cstdint>
#include <vector>

namespace evenkeel::planner::reference {

struct NaiveStage {
  int64_t forward = 0, backward = 0, send = 0;
  int64_t reduce = 0, gather = 0, optimizer = 0;
  double buckets = 1;   // of the reduction and of the gathering
  double slowdown = 0;  // passes take longer by this share of the communication that they hide
};

// Returns when the last backward of each stage ends, with m equal packs.
std::vector<int64_t> LastBackwards(const std::vector<NaiveStage>& stages, int64_t micro_batches);

// Returns the whole step. Each stage reduces its gradients after its last backward. If that
// overlaps, the reduction begins once the last backward has made the first bucket, and the last
// bucket follows the backward. Then all optimizers run, and the slowest counts. The first stage
// gathers its weights before its first forward. If that overlaps, it computes the last bucket's
// share after the last bucket has arrived.
int64_t StepOf(const std::vector<NaiveStage>& stages, int64_t micro_batches, bool overlap);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_
