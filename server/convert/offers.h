// A job on several offers: pools of a cluster, or GPU counts of a pool.
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

// One offer of the request: the job as a request with this offer alone gives it.
struct OfferJob {
  planner::Job job;
  bool possible = true;  // false: no degrees satisfy the constraints; of `job` only the cluster is
                         // valid
};

struct OfferJobs {
  std::vector<OfferJob> offers;  // 1 or more, in the order of the request; one at least is possible
  planner::Objective objective;  // what is best

  bool several() const { return offers.size() > 1; }
  const planner::Job& first() const { return offers.front().job; }
};

// As JobFromProto, for all offers. A job of one offer is exactly JobFromProto's.
std::vector<Violation> OffersFromProto(const v1::PlanJobRequest& request, OfferJobs* offers,
                                       const DatasetSource& datasets = {},
                                       const CalibrationSource& calibrations = {});

// PlanId of the job, or of the comparison where there are several offers.
std::string PlanId(const OfferJobs& offers);

// Plans of one answer together: gRPC clients take messages of 4 MiB, unless told otherwise.
inline constexpr size_t kOfferBytesAtMost = size_t{3} << 20;

// The best offer's plan under the comparison's `plan_id`, with the plans of all of them.
ComputeEnd ComputeOffers(const OfferJobs& offers, const std::string& plan_id,
                         const planner::PlanHooks& hooks, ComputedPlan* out,
                         std::vector<std::string>* faults,
                         size_t bytes_at_most = kOfferBytesAtMost);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_OFFERS_H_
