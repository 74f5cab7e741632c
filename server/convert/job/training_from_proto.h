// Converts the settings of training.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_TRAINING_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_TRAINING_FROM_PROTO_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Training;
}

namespace evenkeel::server {

// Fills job->training, and records assumptions in job->figures. `model` is nullptr after violations
// in the model.
void TrainingFromProto(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                       const planner::ModelSpec* model, planner::Job* job);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_TRAINING_FROM_PROTO_H_
