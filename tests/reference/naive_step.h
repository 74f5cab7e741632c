// Slow twin of the step that partitions are optimised by: every forward and backward of 1F1B one by
// one, from their definition. For tests; never linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_
#define EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_

#include <cstdint>
#include <vector>

namespace evenkeel::planner::reference {

struct NaiveStage {
  int64_t forward = 0, backward = 0, send = 0;
  int64_t reduce = 0, gather = 0, optimizer = 0;
  int64_t buckets = 1;  // of the reduction and the gathering
  double slowdown = 0;  // passes take longer by this share of the communication that they hide
};

// Returns when the last backward of each stage ends, with m equal packs.
std::vector<int64_t> LastBackwards(const std::vector<NaiveStage>& stages, int64_t micro_batches);

// Returns the whole step. Each stage reduces its gradients behind its last backward; where that
// overlaps, it begins once the last backward has made the first bucket, and the last bucket goes
// behind it. Then all optimizers run, and the slowest counts. The first stage gathers its weights
// before its first forward; where that overlaps, it computes the last bucket's share behind the
// last bucket.
int64_t StepOf(const std::vector<NaiveStage>& stages, int64_t micro_batches, bool overlap);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_
