#include "planner/cost/step_size_limit.h"

#include <algorithm>

#include "planner/cost/layer_profile.h"

namespace evenkeel::planner {

double OneGpuStepSeconds(const Job& job) {
  // Each sample is a pack of its own, which is never less work than packed samples.
  PackShape sample;
  double count = 0;
  for (const LengthBin& bin : job.dataset.bins) {
    const double n = static_cast<double>(bin.count), tokens = static_cast<double>(bin.llm_tokens);
    sample.units += n * bin.units.As<double>();
    sample.tokens += n * tokens;
    sample.squared += n * tokens * tokens;
    count += n;
  }
  sample = sample / count;
  const LayerProfile profile = BuildLayerProfile(job, {}, sample, sample);
  double compute_ns = 0, bytes = 0, weights = 0;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    compute_ns += 2 * layer.forward.at(sample) + layer.backward.at(sample);
    bytes += 10 * static_cast<double>(layer.mean_output_bytes);  // collectives and p2p, both ways
    weights += static_cast<double>(layer.static_bytes());
  }
  double link =
      std::min(job.cluster.intra_node_bytes_per_second, job.cluster.inter_node_bytes_per_second);
  if (job.cluster.pod.gpus > 0) link = std::min(link, job.cluster.inter_pod_bytes_per_second);
  const double samples = static_cast<double>(job.training.global_batch_samples);
  // ZeRO-3 gathers weights for every pack.
  const double weight_trips = job.training.zero_stage == ZeroStage::kWeights ? samples : 1;
  return job.calibration.step.value *
         (samples * (compute_ns * 1e-9 + bytes / link) + weight_trips * weights / link);
}

}  // namespace evenkeel::planner
