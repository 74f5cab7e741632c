// A job with several offers: pools of a cluster, or GPU counts of a pool.
#ifndef EVENKEEL_SERVER_CONVERT_OFFERS_H_
#define EVENKEEL_SERVER_CONVERT_OFFERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/make_plan.h"
#include "server/convert/compute_plan.h"
#include "server/convert/from_proto.h"

namespace evenkeel::v1 {
class PlanJobRequest;
}

namespace evenkeel::server {

// One offer of the request. The job is that of a request with this offer alone.
struct OfferJob {
  planner::Job job;
  // false: no degrees satisfy the constraints, and only the cluster of `job` is valid
  bool possible = true;
};

struct OfferJobs {
  std::vector<OfferJob> offers;  // 1 or more, in the order of the request; at least one is possible
  planner::Objective objective;  // what is best

  bool several() const { return offers.size() > 1; }
  const planner::Job& first() const { return offers.front().job; }
};

// Does what JobFromProto does, for all offers. With one offer the job is exactly that of
// JobFromProto.
std::vector<Violation> OffersFromProto(const v1::PlanJobRequest& request, OfferJobs* offers,
                                       const DatasetSource& datasets = {},
                                       const CalibrationSource& calibrations = {});

// Returns PlanId of the job, or the id of the comparison if there are several offers.
std::string PlanId(const OfferJobs& offers);

// Limit on all plans of one answer together: gRPC clients take messages of 4 MiB by default.
inline constexpr size_t kOfferBytesAtMost = size_t{3} << 20;

// Computes the best offer's plan under the comparison's `plan_id`, with the plans of all offers.
ComputeEnd ComputeOffers(const OfferJobs& offers, const std::string& plan_id,
                         const planner::PlanHooks& hooks, ComputedPlan* out,
                         std::vector<std::string>* faults,
                         size_t bytes_at_most = kOfferBytesAtMost);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_OFFERS_H_
