// Time of exchanging rows between the ranks of experts, by dispatcher, and the choice of one:
// docs/COST_MODEL.md, section 3.1.
#ifndef EVENKEEL_PLANNER_COST_EXPERT_DISPATCH_H_
#define EVENKEEL_PLANNER_COST_EXPERT_DISPATCH_H_

#include <cstdint>

#include "planner/cost/kernel_time.h"
#include "planner/cost/network.h"
#include "planner/cost/pack_cost.h"
#include "planner/job.h"
#include "planner/trainer/dispatcher.h"

namespace evenkeel::planner {

// The rows that one rank routes in a pass of a layer.
struct RoutedRows {
  double rows = 0;
  double row_bytes = 0;  // of one row as it is sent
  int64_t top_k = 1;
  RankGroup group;  // the ranks that share the layer's experts
};

// Returns the expected number of n equal parts that hold at least one of the k experts of a row, if
// every expert is equally likely to be in any part. REQUIRES: n >= 1.
double PartsReached(int64_t n, int64_t k);

// Returns the ns of one exchange: to the experts, or back.
double DispatchTime(Dispatcher dispatcher, const Network& network, const RoutedRows& routed);

// Returns how many 16-bit values a rank reads and writes to order rows around one exchange, for
// each row and each value of its width.
double PermutedValues(Dispatcher dispatcher, const RoutedRows& routed);

// Returns how many rows a rank holds of all `ranks` that share a layer's experts, as multiples of
// its own. 0 unless the dispatcher gathers them.
double GatheredRows(Dispatcher dispatcher, int64_t ranks);

// Returns whether a cluster runs a dispatcher over this group.
bool RunsDispatcher(Dispatcher dispatcher, const Cluster& cluster, const RankGroup& group);

// Returns why a GPU type cannot run a dispatcher, or "" if it can.
std::string_view UnfitFor(Dispatcher dispatcher, const GpuSpec& gpu);

// Returns the dispatchers that the job may use: the one that it names, or those of its trainer.
DispatcherSet DispatchersOf(const Job& job);

// Returns the dispatcher in `among` for which exchanging and ordering rows takes the least time; of
// equals, the first. Returns kAllToAll if the cluster runs none of them over this group.
Dispatcher QuickestDispatcher(DispatcherSet among, const Network& network,
                              const KernelTime& kernels, const RoutedRows& routed);

// Returns the dispatcher of a plan with these degrees and this mean pack. REQUIRES: the model has
// experts.
Dispatcher PlannedDispatcher(const Job& job, const Parallelism& parallelism, const PackShape& mean);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_EXPERT_DISPATCH_H_
