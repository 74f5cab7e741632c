// The layers that a plan is checked against.
#ifndef EVENKEEL_PLANNER_CHECK_CHECKED_PROFILE_H_
#define EVENKEEL_PLANNER_CHECK_CHECKED_PROFILE_H_

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Returns the degrees with 1 for those below 1: such degrees are a fault to report, and must not be
// used as divisors.
Parallelism AtLeastOne(Parallelism p);

// Returns the costs of the job's layers under these degrees, for steps of so many micro-batches.
LayerProfile CheckedProfile(const Job& job, const Batching& batching, const Parallelism& p,
                            int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_CHECKED_PROFILE_H_
