// Converts the listener's figures to metrics.
#ifndef EVENKEEL_SERVER_METRICS_LISTENER_FAMILIES_H_
#define EVENKEEL_SERVER_METRICS_LISTENER_FAMILIES_H_

#include <vector>

#include "prometheus/metric_family.h"
#include "server/metrics/listener_gauges.h"

namespace evenkeel::server {

std::vector<prometheus::MetricFamily> ListenerFamilies(const ListenerGauges& gauges);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_LISTENER_FAMILIES_H_
