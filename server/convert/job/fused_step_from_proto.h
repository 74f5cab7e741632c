// Training.fused_step, and the settings that it excludes.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_FUSED_STEP_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_FUSED_STEP_FROM_PROTO_H_

#include "planner/job.h"
#include "server/convert/checks.h"

namespace evenkeel::v1 {
class Job;
}

namespace evenkeel::server {

// Converts the field and refuses the settings that it excludes. REQUIRES: training, offload and
// constraints are converted.
void FusedStepFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                        planner::Job* job);

// Refuses a global batch that has several micro-batches for each rank under a fused step, where the
// request says how large they are. The search finds out about others. REQUIRES: the job is valid.
void CheckMicroBatches(const planner::Job& job, const FieldPath& path, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_FUSED_STEP_FROM_PROTO_H_
