// The data of a job: its histograms as one sorted list of bins.
#ifndef EVENKEEL_SERVER_CONVERT_DATASET_DATASET_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_DATASET_DATASET_FROM_PROTO_H_

#include "planner/job.h"
#include "server/base/dataset_source.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Job;
}

namespace evenkeel::server {

// Fills job->dataset, with the built-in default if the request has none, and records this in
// job->figures. `path` is that of the job. The data must suit `model`. If `model` is nullptr, after
// violations in the model, only the form is checked. `datasets` is as in JobFromProto.
void DatasetFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      const planner::ModelSpec* model, const DatasetSource& datasets,
                      planner::Job* job);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_DATASET_DATASET_FROM_PROTO_H_
