// Converts the metrics library's families to plain values.
#ifndef EVENKEEL_SERVER_METRICS_TAKE_SNAPSHOT_H_
#define EVENKEEL_SERVER_METRICS_TAKE_SNAPSHOT_H_

#include <vector>

#include "prometheus/metric_family.h"
#include "server/metrics/metrics_snapshot.h"

namespace evenkeel::server {

MetricsSnapshot TakeSnapshot(const std::vector<prometheus::MetricFamily>& families);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_TAKE_SNAPSHOT_H_
