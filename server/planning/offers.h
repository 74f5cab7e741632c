// Plans a job with several offers: pools of a cluster, or GPU counts of a pool.
#ifndef EVENKEEL_SERVER_PLANNING_OFFERS_H_
#define EVENKEEL_SERVER_PLANNING_OFFERS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "planner/make_plan.h"
#include "server/convert/job/offers_from_proto.h"
#include "server/core/computed_plan.h"

namespace evenkeel::server {

// Returns PlanId of the job, or the id of the comparison if there are several offers.
std::string PlanId(const OfferJobs& offers);

// Limit on all plans of one answer together. gRPC clients accept messages of up to 4 MiB by
// default.
inline constexpr size_t kOfferBytesAtMost = size_t{3} << 20;

// Computes the best offer's plan under the comparison's `plan_id`, and the plans of all offers.
ComputeEnd ComputeOffers(const OfferJobs& offers, const std::string& plan_id,
                         const planner::PlanHooks& hooks, ComputedPlan* out,
                         std::vector<std::string>* faults,
                         size_t bytes_at_most = kOfferBytesAtMost);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_OFFERS_H_
