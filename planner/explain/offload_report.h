// The offload figures of a finished plan.
#ifndef EVENKEEL_PLANNER_EXPLAIN_OFFLOAD_REPORT_H_
#define EVENKEEL_PLANNER_EXPLAIN_OFFLOAD_REPORT_H_

#include <optional>
#include <vector>

#include "planner/candidates/candidate.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the offloaded bytes of a candidate with these stages and the time that they cost, without
// the gain. Returns nullopt if the job does not ask for offload.
std::optional<OffloadPlan> ReportOffload(const Job& job, const Batching& batching,
                                         const Candidate& c, const std::vector<StagePlan>& stages);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EXPLAIN_OFFLOAD_REPORT_H_
