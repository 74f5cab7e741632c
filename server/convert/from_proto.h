// From the contract to the planner's input: the one place where a request is checked.
#ifndef EVENKEEL_SERVER_CONVERT_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_FROM_PROTO_H_

#include <vector>

#include "planner/job.h"
#include "server/convert/dataset_source.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class PlanJobRequest;
}

namespace evenkeel::server {

// Fills `*job`, or returns everything that is wrong with the request: paths relative to the
// request, in field order, at most `max_violations` of them (the last then says how many more there
// are). After violations `*job` is of no use.
//
// The job is normalised: requests that mean the same give the same job. Names are the catalogue's,
// defaults are filled in, bins are merged and sorted. Only `figures` tell a value that was given
// from an equal one that was assumed.
// A dataset_ref is resolved by `datasets`, and the job is that of the same histogram given inline;
// a reference that it does not know is a violation. Empty: there are no datasets.
std::vector<Violation> JobFromProto(const v1::PlanJobRequest& request, planner::Job* job,
                                    const DatasetSource& datasets = {});

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_FROM_PROTO_H_
