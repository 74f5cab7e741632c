#include "tests/baselines/partition_metrics.h"

namespace evenkeel::planner {
namespace {

double Variance(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return squares / static_cast<double>(values.size());
}

}  // namespace

PartitionMetrics MetricsOf(const Segments& segments, const std::vector<int64_t>& boundaries) {
  const LayerProfile& profile = segments.profile();
  PartitionMetrics metrics;
  std::vector<double> parameters, layers, forward;
  for (size_t s = 0; s + 1 < boundaries.size(); ++s) {
    const int64_t i = boundaries[s], j = boundaries[s + 1];
    int64_t own = 0, transformers = 0;
    for (int64_t at = i; at < j; ++at) {
      own += profile.at(at).parameters;
      transformers += IsTransformerLayer(profile.at(at).kind) ? 1 : 0;
    }
    parameters.push_back(static_cast<double>(own * segments.parallelism().tensor) * 1e-9);
    layers.push_back(static_cast<double>(transformers));
    forward.push_back(static_cast<double>(segments.ForwardBefore(j) - segments.ForwardBefore(i)) *
                      1e-6);
    if (s + 2 < boundaries.size()) metrics.crossing_bytes += profile.at(j - 1).mean_output_bytes;
  }
  metrics.parameters_variance = Variance(parameters);
  metrics.layers_variance = Variance(layers);
  metrics.forward_variance = Variance(forward);
  return metrics;
}

}  // namespace evenkeel::planner
