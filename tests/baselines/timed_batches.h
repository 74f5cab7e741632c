// Methods of others that balance ranks by time inside random batches: FlexSP (arXiv 2412.01523,
// ASPLOS 2025) and WLB-LLM (arXiv 2503.17924, OSDI 2025). docs/ALGORITHMS.md says what is assumed.
#ifndef EVENKEEL_TESTS_BASELINES_TIMED_BATCHES_H_
#define EVENKEEL_TESTS_BASELINES_TIMED_BATCHES_H_

#include <cstdint>

#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/deal_rule.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Micro-batches that run at once, one after the other or as steps.
struct TimedBatches {
  int64_t steps = 0;          // times that all ranks wait for each other
  int64_t batches = 0;        // micro-batches that are not empty
  int64_t longest_delay = 0;  // most steps that a sample waited for its micro-batch
  // Share of the time that ranks wait for the slowest, over all steps but the last (WLB-LLM), or
  // all of them (FlexSP).
  double idle = 0;
  Packing packing;             // empty for FlexSP
  std::vector<int64_t> order;  // as Deal's; empty for FlexSP
};

// Random batches of as many samples as fill ranks x packs_per_rank micro-batches by 95%. Samples
// that take longer than a mean micro-batch are one class, those that take longer than half of one
// another. Each class waits in its own queue until it has as many samples as there are
// micro-batches. Samples, longest first, go to the micro-batch of least time if it has room for
// their tokens, else to that with the fewest tokens, else they wait for the next batch. Units have
// no cap.
TimedBatches DelayOutliers(const Lengths& lengths, int64_t token_cap, const PackTimes& times,
                           const DealRule& rule, const Stop& stop = {});

// FlexSP's assignment (AssignInWaves) of the same batches. A rank has a power of two of GPUs,
// each with its share of the cap, that may be divided into smaller groups; sharing costs nothing.
// All GPUs wait for each other after each wave. `batches` counts groups that have work.
TimedBatches DivideFlexibly(const Lengths& lengths, int64_t token_cap, const PackTimes& times,
                            const DealRule& rule, int64_t gpus_per_rank = 1, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_BASELINES_TIMED_BATCHES_H_
