#include "planner/cost/model_flops.h"

#include <algorithm>

namespace evenkeel::planner {

double ModelFlops(const LayerProfile& profile, const PackShape& pack) {
  double flops = 0;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    flops +=
        layer.forward_flops.at(pack) * (1 + (layer.has_backward ? layer.backward_flops_ratio : 0));
  }
  return flops;
}

double PeakFlops(const Job& job) {
  return static_cast<double>(job.cluster.gpu_count) * job.cluster.gpu.dense_16bit_flops *
         PeakRatioOf(RecipeOf(job.training.precision).products);
}

double LeastSeconds(const Job& job, const PackShape& mean_sample, double samples) {
  double quickest = 1;
  for (const LayerCalibration& layer : job.calibration.layers) {
    for (const MeasuredRatio& ratio : {layer.forward, layer.backward})
      if (ratio.count > 0) quickest = std::min(quickest, ratio.value);
  }
  const LayerProfile profile = BuildLayerProfile(job, {}, mean_sample, mean_sample);
  return quickest * ModelFlops(profile, mean_sample) * samples / PeakFlops(job);
}

}  // namespace evenkeel::planner
