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
  double slowdown = 0;  // share of what passes hide of them that the passes take longer
};

// When the last backward of each stage ends, with m equal packs.
std::vector<int64_t> LastBackwards(const std::vector<NaiveStage>& stages, int64_t micro_batches);

// Each stage reduces its gradients behind its last backward or, where that overlaps, from when that
// has made the first bucket; the last bucket goes behind it. Then all optimizers run, and the
// slowest counts. The first stage gathers its weights before its first forward or, where that
// overlaps, computes behind the last bucket what that is for.
int64_t StepOf(const std::vector<NaiveStage>& stages, int64_t micro_batches, bool overlap);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_STEP_H_
