// Which expert-parallel degrees a dispatcher can serve.
#ifndef EVENKEEL_PLANNER_SPACE_DISPATCHER_REACH_H_
#define EVENKEEL_PLANNER_SPACE_DISPATCHER_REACH_H_

#include <cstdint>

#include "planner/job.h"

namespace evenkeel::planner {

// Returns the rates of a library's kernels between nodes of this kind.
const NetworkRates& RatesBetweenNodes(const DispatcherRecord& record, Fabric fabric);

// Returns whether the dispatcher that the job names has a transport between scale-up domains. For
// kLeastTime, some has.
bool DispatcherLeavesDomain(const Job& job);

// Returns whether the dispatcher that the job names runs between this many expert-parallel ranks.
// One that has no transport between the cluster's nodes needs all of them in a scale-up domain.
bool DispatcherReaches(const Job& job, int64_t expert);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_DISPATCHER_REACH_H_
