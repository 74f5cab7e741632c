#include "server/metrics/metrics_snapshot.h"

#include <algorithm>
#include <cmath>

namespace evenkeel::server {
namespace {

bool Includes(const MetricsSnapshot::Labels& all, const MetricsSnapshot::Labels& some) {
  return std::all_of(some.begin(), some.end(), [&all](const auto& label) {
    const auto found = all.find(label.first);
    return found != all.end() && found->second == label.second;
  });
}

}  // namespace

std::vector<const MetricSample*> MetricsSnapshot::Find(std::string_view name,
                                                       const Labels& labels) const {
  std::vector<const MetricSample*> found;
  for (const MetricSample& sample : samples_) {
    if (sample.name == name && Includes(sample.labels, labels)) found.push_back(&sample);
  }
  return found;
}

std::optional<double> MetricsSnapshot::Sum(std::string_view name, const Labels& labels) const {
  const std::vector<const MetricSample*> found = Find(name, labels);
  if (found.empty()) return std::nullopt;
  double sum = 0;
  for (const MetricSample* sample : found) sum += sample->value;
  return sum;
}

std::optional<double> EstimateQuantile(const MetricSample& histogram, double q) {
  const double rank = q * histogram.value;
  double lower_bound = 0;
  double below = 0;
  if (!(histogram.value > 0)) return std::nullopt;
  for (const MetricSample::Bucket& bucket : histogram.buckets) {
    const auto count = static_cast<double>(bucket.cumulative_count);
    if (count >= rank && count > below) {
      if (std::isinf(bucket.upper_bound)) return lower_bound;
      return lower_bound + (bucket.upper_bound - lower_bound) * (rank - below) / (count - below);
    }
    lower_bound = bucket.upper_bound;
    below = count;
  }
  return lower_bound;
}

}  // namespace evenkeel::server
