// Builds metric families for figures that are read at scrape time.
#ifndef EVENKEEL_SERVER_METRICS_FAMILIES_H_
#define EVENKEEL_SERVER_METRICS_FAMILIES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "prometheus/client_metric.h"
#include "prometheus/metric_family.h"
#include "prometheus/metric_type.h"

namespace evenkeel::server {

// Returns a family of one gauge or counter.
inline prometheus::MetricFamily SingleMetric(const char* name, const char* help,
                                             prometheus::MetricType type,
                                             std::vector<prometheus::ClientMetric::Label> labels,
                                             double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  metric.counter.value = value;
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  family.metric.push_back(std::move(metric));
  return family;
}

// Returns a family of one counter per value of the label `outcome`.
inline prometheus::MetricFamily CountedByOutcome(
    const char* name, const char* help,
    const std::vector<std::pair<const char*, uint64_t>>& outcomes) {
  prometheus::MetricFamily family;
  for (const auto& [outcome, count] : outcomes) {
    prometheus::MetricFamily one = SingleMetric(name, help, prometheus::MetricType::Counter,
                                                {{"outcome", outcome}}, static_cast<double>(count));
    one.metric.insert(one.metric.begin(), family.metric.begin(), family.metric.end());
    family = std::move(one);
  }
  return family;
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_FAMILIES_H_
