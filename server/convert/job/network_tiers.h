// The tiers of a pool's network.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_NETWORK_TIERS_H_
#define EVENKEEL_SERVER_CONVERT_JOB_NETWORK_TIERS_H_

#include <cstdint>

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class GpuPool;
}

namespace evenkeel::server {

// Fills in scale-up domain, pod and the bandwidths that tiers state. `cluster` has its GPU type and
// the rates of other fields; nodes have `per_node` GPUs.
void TiersFromProto(const v1::GpuPool& from, const FieldPath& path, int64_t per_node,
                    ViolationSink& sink, planner::Cluster* cluster);

// Checks that a job of the cluster's size, given in `field`, fills whole units.
void CheckTierCounts(const v1::GpuPool& from, const FieldPath& field, const FieldPath& pool,
                     const planner::Cluster& cluster, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_NETWORK_TIERS_H_
