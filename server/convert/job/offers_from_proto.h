// Converts a job with several offers: pools of a cluster, or GPU counts of a pool.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_OFFERS_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_OFFERS_FROM_PROTO_H_

#include <vector>

#include "planner/job.h"
#include "server/base/dataset_source.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class PlanJobRequest;
}

namespace evenkeel::server {

// One offer of the request. The job is that of a request with only this offer.
struct OfferJob {
  planner::Job job;
  // False if no degrees satisfy the constraints. Then only the cluster of `job` is valid.
  bool possible = true;
};

struct OfferJobs {
  std::vector<OfferJob> offers;  // 1 or more, in the order of the request; at least one is possible
  planner::Objective objective;  // defines which offer is best

  bool several() const { return offers.size() > 1; }
  const planner::Job& first() const { return offers.front().job; }
};

// Does JobFromProto for all offers. If there is one offer, the job is exactly that of JobFromProto.
std::vector<Violation> OffersFromProto(const v1::PlanJobRequest& request, OfferJobs* offers,
                                       const DatasetSource& datasets = {},
                                       const CalibrationSource& calibrations = {});

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_OFFERS_FROM_PROTO_H_
