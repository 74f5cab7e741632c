#include "server/metrics/take_snapshot.h"

#include <utility>

namespace evenkeel::server {
namespace {

MetricSample ToSample(const prometheus::MetricFamily& family,
                      const prometheus::ClientMetric& metric) {
  MetricSample sample;
  sample.name = family.name;
  for (const auto& label : metric.label) sample.labels[label.name] = label.value;
  switch (family.type) {
    case prometheus::MetricType::Counter:
      sample.value = metric.counter.value;
      break;
    case prometheus::MetricType::Histogram:
      sample.value = static_cast<double>(metric.histogram.sample_count);
      sample.sum = metric.histogram.sample_sum;
      for (const auto& bucket : metric.histogram.bucket) {
        sample.buckets.push_back({bucket.upper_bound, bucket.cumulative_count});
      }
      break;
    default:
      sample.value = metric.gauge.value;
  }
  return sample;
}

}  // namespace

MetricsSnapshot TakeSnapshot(const std::vector<prometheus::MetricFamily>& families) {
  std::vector<MetricSample> samples;
  for (const auto& family : families) {
    for (const auto& metric : family.metric) samples.push_back(ToSample(family, metric));
  }
  return MetricsSnapshot(std::move(samples));
}

}  // namespace evenkeel::server
