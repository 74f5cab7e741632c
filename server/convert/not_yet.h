// Parts of the contract that are converted in full but that no plan takes into account yet. To turn
// one on, delete its function here with its one call.
#ifndef EVENKEEL_SERVER_CONVERT_NOT_YET_H_
#define EVENKEEL_SERVER_CONVERT_NOT_YET_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Cluster;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Each adds a "not yet" violation where the feature is asked for.
void RefuseOffers(const v1::Cluster& from, const FieldPath& path, ViolationSink& sink);
void RefuseObjective(const planner::Objective& objective, const FieldPath& path,
                     ViolationSink& sink);
void RefuseReliability(const planner::Reliability& reliability, const FieldPath& path,
                       ViolationSink& sink);
void RefuseOtherSizes(bool compare_sizes, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_NOT_YET_H_
