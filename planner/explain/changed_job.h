// Changes of a job. Each also changes the defaults that a request would derive from it.
#ifndef EVENKEEL_PLANNER_EXPLAIN_CHANGED_JOB_H_
#define EVENKEEL_PLANNER_EXPLAIN_CHANGED_JOB_H_

#include <cstdint>
#include <vector>

#include "planner/hardware/gpu_spec.h"
#include "planner/hardware/gpus.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Returns a cluster of `gpu_count` GPUs of the same type and kind of nodes: in one node, in full
// ones or, if they do not divide into those, with as many per node as now.
Cluster Resized(const Cluster& cluster, int64_t gpu_count);

// Returns as many GPUs of another type, with its own links inside a node and no known price.
Cluster WithGpu(const Cluster& cluster, const GpuSpec& gpu);

// Returns whether GPUs of this type have the number formats and the dispatcher of the job.
bool CanRun(const GpuSpec& gpu, const Job& job);

// Returns the GPU types in the catalogue that can run the job as it is: those of its own type's
// vendor or, if the catalogue does not have its type, of all.
std::vector<const GpuEntry*> GpusThatCanRun(const Job& job);

// Changes the GPU type. Measured times are dropped, because they hold for the job's own type.
void ChangeGpu(const GpuSpec& gpu, Job* job);

// Allows only these degrees; virtual stages and ranks that share images stay as they are.
void PinDegrees(const Parallelism& p, Constraints* constraints);

// Changes the ZeRO stage, and the trainer's defaults that depend on it.
void ChangeZeroStage(ZeroStage stage, Training* training);

// Changes the precision. Gradients that are 16-bit only because of float16 return to the trainer's
// default. Measured times are dropped, because they hold for the job's own precision. The job must
// not run under autocast, which has 16 bits.
void ChangePrecision(Precision precision, Job* job);

// Changes the number of GPUs and, if the ZeRO stage follows from it (Training::stage_by_gpus), that
// stage too: one GPU shards nothing.
void ChangeGpuCount(int64_t gpu_count, Job* job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EXPLAIN_CHANGED_JOB_H_
