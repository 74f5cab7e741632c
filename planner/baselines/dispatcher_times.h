// A plan under each dispatcher of experts that it could have.
#ifndef EVENKEEL_PLANNER_BASELINES_DISPATCHER_TIMES_H_
#define EVENKEEL_PLANNER_BASELINES_DISPATCHER_TIMES_H_

#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the step of `plan`, whose packs are `batching`'s, with each dispatcher that the trainer
// and the cluster have and with which it fits, quickest first. Empty if experts are not spread over
// ranks.
std::vector<DispatcherTime> DispatcherTimes(const Job& job, const Batching& batching,
                                            const Plan& plan, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASELINES_DISPATCHER_TIMES_H_
