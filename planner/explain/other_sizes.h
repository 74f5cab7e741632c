// Plans of the same job on other GPUs, on a smaller or larger cluster, in other precisions, and
// with other shardings.
#ifndef EVENKEEL_PLANNER_EXPLAIN_OTHER_SIZES_H_
#define EVENKEEL_PLANNER_EXPLAIN_OTHER_SIZES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the other sizes that exist: a node less and a node more (or a whole unit of the network,
// where the job must fill units), and the next GPU types of the same vendor below and above by
// memory, then peak rate. If the GPU count changes, a data-parallel degree that the job fixes is
// free, or no plan could have it. `plan` makes a short plan of a job, nullopt if it does not fit.
// Incomplete if stopped.
using ShortPlanner = std::function<std::optional<Alternative>(const Job&)>;
std::vector<OtherSize> OtherSizes(const Job& job, const ShortPlanner& plan, const Stop& stop);

// Returns the job in each other precision that the GPU type and the trainer have. Measured times
// hold only for the job's own precision. Incomplete if stopped.
std::vector<OtherPrecision> OtherPrecisions(const Job& job, const ShortPlanner& plan,
                                            const Stop& stop);

// Returns the job with each other sharding: the ZeRO stages that the trainer has, over all ranks
// and inside each node. An offload or a fused step keeps the job's stage. Incomplete if stopped.
std::vector<OtherSharding> OtherShardings(const Job& job, const ShortPlanner& plan,
                                          const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EXPLAIN_OTHER_SIZES_H_
