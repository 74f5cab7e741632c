// Checks whether any degrees of parallelism satisfy a job's constraints.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_DEGREE_PRODUCTS_H_
#define EVENKEEL_SERVER_CONVERT_JOB_DEGREE_PRODUCTS_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// Adds a violation at `path` unless some degrees in the space of the search
// (planner/space/degrees.h) satisfy the constraints of `job`, whose other parts are valid.
void CheckDegreeProducts(const planner::Job& job, const FieldPath& path, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_DEGREE_PRODUCTS_H_
