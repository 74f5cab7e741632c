// Converts a GPU type that is given by catalogue name or in full.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_GPU_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_GPU_FROM_PROTO_H_

#include "planner/hardware/gpu_spec.h"
#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Gpu;
class GpuPool;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Fills in the GPU type of a pool and the basis of its figures. Returns false after violations.
// `path` is that of the pool.
bool GpuFromProto(const v1::GpuPool& from, const FieldPath& path, ViolationSink& sink,
                  planner::GpuSpec* gpu, planner::FigureBasis* peak);

// Fills in a GPU type that is given in full at `path`. Returns false after violations.
bool DescribedGpuFromProto(const v1::Gpu& from, const FieldPath& path, ViolationSink& sink,
                           planner::GpuSpec* gpu);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_GPU_FROM_PROTO_H_
