// The records of GPU types outside NVIDIA's data-centre boards from Ampere on.
#ifndef EVENKEEL_PLANNER_HARDWARE_OTHER_GPU_RECORDS_H_
#define EVENKEEL_PLANNER_HARDWARE_OTHER_GPU_RECORDS_H_

#include <vector>

#include "planner/hardware/gpu_traits.h"

namespace evenkeel::planner {

std::vector<GpuEntry> WorkstationGpus();
std::vector<GpuEntry> VoltaGpus();
std::vector<GpuEntry> AmdGpus();
std::vector<GpuEntry> OlderAmdGpus();

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_OTHER_GPU_RECORDS_H_
