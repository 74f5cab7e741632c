// What no plan of a parallelism can beat, from sums over the model alone: dismisses parallelisms
// before any partition of them is looked at.
#ifndef EVENKEEL_PLANNER_SEARCH_BOUNDS_H_
#define EVENKEEL_PLANNER_SEARCH_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// The chain of one mean pack, ns; with recompute only as far as the profile's setting tells.
struct ChainWork {
  int64_t total_ns = 0;          // forward and backward
  int64_t longest_ns = 0;        // of one layer
  int64_t least_ns = 0;          // of one transformer layer
  double least_forward = 1;      // forward over forward and backward of any layer: the least
  int64_t least_send_bytes = 0;  // of any boundary

  struct Class {
    int64_t layers = 0, each_ns = 0;
    // A stage with n of them repeats min(block, n) as well.
    int64_t block = 0, repeated_ns = 0;
  };
  std::vector<Class> classes;

  // Some stage of so many works as long on each pack: layers are whole.
  int64_t SlowestStage(int64_t stages) const;
};
ChainWork WorkOf(const LayerProfile& profile);

// p2p of one pack over the quickest boundary, one way, ns; 0 without pipeline.
int64_t LeastSend(const Job& job, const Parallelism& p, const ChainWork& work);

// No partition and recompute of P stages ends its last backward of m mean packs sooner; p2p
// included. Proofs: docs/ALGORITHMS.md, section Choice of parallelism.
int64_t PipelineBound(const ChainWork& work, const Parallelism& p, Schedule schedule,
                      int64_t micro_batches, int64_t least_send_ns);

// Neither does data-parallel exchange and the slowest stage's optimizer add less to that: of one
// stage all that is left behind its passes without recompute, else the optimizer of an even share.
int64_t SyncBound(const Job& job, const LayerProfile& profile, const Parallelism& p);

// What to expect of even chunks, ns: the order in which to search, no bound.
int64_t PipelineEstimate(const ChainWork& work, const Parallelism& p, Schedule schedule,
                         int64_t micro_batches, int64_t least_send_ns);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_BOUNDS_H_
