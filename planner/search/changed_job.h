// Changes of a job, with what follows from each in a request that says it.
#ifndef EVENKEEL_PLANNER_SEARCH_CHANGED_JOB_H_
#define EVENKEEL_PLANNER_SEARCH_CHANGED_JOB_H_

#include <cstdint>

#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Returns a cluster of `gpu_count` GPUs of the same type and kind of nodes: in one node, in full
// ones or, if they do not divide into those, with as many per node as now.
Cluster Resized(const Cluster& cluster, int64_t gpu_count);

// Allows only these degrees; virtual stages and ranks that share images stay as they are.
void PinDegrees(const Parallelism& p, Constraints* constraints);

// Changes the stage, and the trainer's habits that depend on it.
void ChangeZeroStage(ZeroStage stage, Training* training);

// Changes the precision. Gradients that are 16-bit only because of float16 return to the trainer's
// default. Measured times are dropped, because they hold for the job's own precision.
void ChangePrecision(Precision precision, Job* job);

// Changes the number of GPUs and, unless the job gives a ZeRO stage, the stage that follows from
// it: one GPU shares nothing.
void ChangeGpuCount(int64_t gpu_count, Job* job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_CHANGED_JOB_H_
