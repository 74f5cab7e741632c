// Converts degrees and schedule of a plan that the caller wrote.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_PARALLELISM_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_PARALLELISM_FROM_PROTO_H_

#include "evenkeel/v1/plan.pb.h"
#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// Converts degrees; unset ones are 1. Checks that they multiply to the GPUs of `job`, which is
// valid, and suit its nodes and model.
planner::Parallelism ParallelismFromProto(const v1::Parallelism& from, const FieldPath& path,
                                          const planner::Job& job, ViolationSink& sink);

// Converts the schedule. Unset: 1F1B, or interleaved 1F1B with several virtual stages.
planner::Schedule ScheduleFromProto(v1::PipelineSchedule from, const planner::Parallelism& p,
                                    const FieldPath& field, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_PARALLELISM_FROM_PROTO_H_
