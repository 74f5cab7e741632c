// A lower bound of the pipeline from sums over the model alone: for dismissing parallelisms by the
// hundred.
#ifndef EVENKEEL_PLANNER_PARTITION_EVEN_BOUND_H_
#define EVENKEEL_PLANNER_PARTITION_EVEN_BOUND_H_

#include <cstdint>

namespace evenkeel::planner {

// The chain of one mean pack without recompute, ns.
struct EvenChain {
  int64_t work_ns = 0;           // forward and backward of all layers
  int64_t longest_layer_ns = 0;  // of one of them
  int64_t least_send_ns = 0;     // p2p over any boundary, one way
};

// No 1F1B of any partition into P stages ends its last backward of m packs sooner, p2p included,
// ns. Work is cut at will, inside layers too, and nothing is recomputed; data sync and optimizer
// are not in it. Some microseconds. At m > P no less than the closed form of even stages, (m - 1) W
// / P + W for work W. Proof: docs/ALGORITHMS.md, "Bounds".
int64_t EvenBound(const EvenChain& chain, int64_t stages, int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_EVEN_BOUND_H_
