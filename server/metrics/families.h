// Builds metric families for figures that are read at scrape time.
#ifndef EVENKEEL_SERVER_METRICS_FAMILIES_H_
#define EVENKEEL_SERVER_METRICS_FAMILIES_H_

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

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_FAMILIES_H_
