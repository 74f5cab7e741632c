// Time of communication by topology: docs/COST_MODEL.md, section 3. Ranks are laid out tp-dp-pp,
// tensor fastest, so a tensor group is a block of consecutive ranks, and stage s begins at rank s T
// D.
#ifndef EVENKEEL_PLANNER_COST_NETWORK_H_
#define EVENKEEL_PLANNER_COST_NETWORK_H_

#include <cstdint>

#include "planner/cost/gpu_rates.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

class Network {
 public:
  explicit Network(const Cluster& cluster);

  // All-gather or reduce-scatter over `ranks` GPUs of one node; `total_bytes` is the gathered size.
  // ns.
  double NodeCollective(int64_t ranks, double total_bytes) const;

  // Whether stage s and s + 1 sit on different nodes.
  bool StageLinkCrossesNodes(const Parallelism& p, int64_t s) const;

  // One-way send of `bytes` from each rank of stage s to its peer on stage s + 1. ns.
  int64_t StageSend(const Parallelism& p, int64_t s, int64_t bytes) const;

  // Gradient reduction over the D data-parallel ranks and, with a sharded optimizer, gathering of
  // updated weights; ring, not overlapped with compute. `gradient_bytes` and `weight_bytes` are of
  // one rank. ns.
  int64_t DataSync(const Parallelism& p, double gradient_bytes, double weight_bytes,
                   ZeroStage zero) const;

 private:
  double RingPass(const Parallelism& p, double total_bytes) const;

  Cluster cluster_;
  GpuRates rates_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_NETWORK_H_
