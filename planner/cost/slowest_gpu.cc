#include "planner/cost/slowest_gpu.h"

#include <algorithm>

#include "planner/base/integers.h"

namespace evenkeel::planner {

double SlowestGpu(const Job& job) {
  double gpus = D(job.cluster.gpu_count) / 8, doublings = 0;
  for (; gpus >= 2; gpus /= 2) ++doublings;
  doublings += std::max(0.0, gpus - 1);  // linear between powers of two
  return 1 + doublings * job.constants.slowest_gpu_ratio;
}

}  // namespace evenkeel::planner
