// The GPUs of a job.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_CLUSTER_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_CLUSTER_FROM_PROTO_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Cluster;
}

namespace evenkeel::server {

// Fills job->cluster from the first offer, records the basis of its rates in job->figures, and
// checks the other offers. Returns false after violations.
bool ClusterFromProto(const v1::Cluster& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_CLUSTER_FROM_PROTO_H_
