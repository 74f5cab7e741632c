// The records of the GPU types.
#ifndef EVENKEEL_PLANNER_HARDWARE_GPU_RECORDS_H_
#define EVENKEEL_PLANNER_HARDWARE_GPU_RECORDS_H_

#include <vector>

#include "planner/hardware/gpu_traits.h"

namespace evenkeel::planner {

std::vector<GpuEntry> GpuRecords();

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_GPU_RECORDS_H_
