// The weights that ZeRO-3 gathers for a layer's passes, and the time of gathering:
// docs/COST_MODEL.md, section 3.
#ifndef EVENKEEL_PLANNER_COST_WEIGHT_GATHER_H_
#define EVENKEEL_PLANNER_COST_WEIGHT_GATHER_H_

#include "planner/cost/kernel_time.h"
#include "planner/cost/layer_operation.h"
#include "planner/cost/network.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Weights of a layer that the ranks of a group share.
struct SharedWeights {
  double parameters = 0, trained = 0;
  double bytes = 0;  // as they are gathered: frozen weights may have 4 bits
};

// Returns the weights that a rank gathers. Experts without a copy on another rank are not gathered.
SharedWeights GatheredWeights(const Training& training, const Parallelism& p,
                              const LayerWork& work);

// Times in ns of a layer's collectives, copies between GPU and host, and memory traffic. The layer
// gathers its weights before each of its passes, and reduces its gradients after the backward pass.
struct GatherTimes {
  double gather = 0, reduce = 0;
  double host_to_device_ns = 0;  // the weights' shard
  double device_to_host_ns = 0;  // the gradients' shard
  double gather_traffic = 0, reduce_traffic = 0;
  double adapters = 0;  // gathers of single adapters, which nothing hides
};
GatherTimes GatherTimesOf(const Job& job, const KernelTime& kernels, const Network& network,
                          const Parallelism& p, const LayerWork& work);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_WEIGHT_GATHER_H_
