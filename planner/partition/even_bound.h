// A lower bound on the pipeline's time from sums over the model only. It prunes parallelisms
// cheaply.
#ifndef EVENKEEL_PLANNER_PARTITION_EVEN_BOUND_H_
#define EVENKEEL_PLANNER_PARTITION_EVEN_BOUND_H_

#include <cstdint>

namespace evenkeel::planner {

// The chain of one mean pack without recompute, ns.
struct EvenChain {
  int64_t work_ns = 0;           // forward and backward of all layers
  int64_t longest_layer_ns = 0;  // the longest of them
  int64_t least_send_ns = 0;     // p2p over any boundary, one way
};

// Returns a lower bound, in ns, on the end of the last backward of m packs, p2p included, under
// 1F1B with any partition into P stages. Work may be cut anywhere, even inside layers, and nothing
// is recomputed; data sync and optimizer are not included. Takes a few microseconds. For m > P the
// bound is at least the closed form of even stages, (m - 1) W / P + W for work W. Proof:
// docs/ALGORITHMS.md, "Bounds".
int64_t EvenBound(const EvenChain& chain, int64_t stages, int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_EVEN_BOUND_H_
