// Bounds on all plans of a parallelism, computed from sums over the model. They prune parallelisms
// before any partition is searched.
#ifndef EVENKEEL_PLANNER_CANDIDATES_BOUNDS_H_
#define EVENKEEL_PLANNER_CANDIDATES_BOUNDS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"

namespace evenkeel::planner {

// The work of one mean pack, ns. Recompute counts only where the profile's setting requires it.
struct ChainWork {
  int64_t total_ns = 0;          // forward and backward
  int64_t longest_ns = 0;        // of one layer
  int64_t least_ns = 0;          // of one transformer layer
  double least_forward = 1;      // smallest share of forward in the time of any layer
  int64_t least_send_bytes = 0;  // of any boundary

  struct Class {
    int64_t layers = 0, each_ns = 0;
    // A stage with n of these layers also repeats min(block, n) of them.
    int64_t block = 0, repeated_ns = 0;
    // Layers of other kinds that are always on the first and on the last stage.
    int64_t first_ns = 0, last_ns = 0;

    // Returns the time of n layers on one stage.
    int64_t TimeOf(int64_t n) const { return n * each_ns + std::min(n, block) * repeated_ns; }
    // Returns the most layers that take no longer than this on one stage.
    int64_t Within(int64_t time_ns) const;
  };
  std::vector<Class> classes;

  // Returns a lower bound on the end of m packs. Stages hold whole layers, so the slowest stage has
  // its share of every kind, rounded up. The first and last stages also hold the ends of the chain.
  // Stage s adds s x `delay_ns` to its work.
  int64_t WholeLayers(int64_t stages, int64_t micro_batches, int64_t delay_ns) const;
};
ChainWork ChainWorkOf(const LayerProfile& profile);

// Returns the ns to send one pack over the quickest boundary, one way; 0 without a pipeline.
int64_t LeastSend(const Job& job, const Parallelism& p, const ChainWork& work);

// Returns a lower bound, in ns, on the end of the last backward of m mean packs over P stages, p2p
// included, for every partition and recompute. Proofs: docs/ALGORITHMS.md, Choice of parallelism.
int64_t PipelineBound(const ChainWork& work, const Parallelism& p, Schedule schedule,
                      int64_t micro_batches, int64_t least_send_ns);

// Returns a lower bound, in ns, on the time that data-parallel exchange and the slowest stage's
// optimizer add to a step. With one stage, it is the optimizer and the exchange that passes cannot
// hide; with several, the optimizer of an even share.
int64_t SyncBound(const Job& job, const LayerProfile& profile, const Parallelism& p);

// Returns an estimate, in ns, of the time that data sync and optimizer add to a step, taken from a
// stage with an even share of the parameters, or with the largest layer if that has more.
int64_t SyncEstimate(const Job& job, const LayerProfile& profile, const Parallelism& p);

// Returns an estimate for even chunks, ns. It orders the search and is no bound.
int64_t PipelineEstimate(const ChainWork& work, const Parallelism& p, Schedule schedule,
                         int64_t micro_batches, int64_t least_send_ns);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CANDIDATES_BOUNDS_H_
