// Metrics of the spans that are exported.
#ifndef EVENKEEL_SERVER_METRICS_TRACE_FAMILIES_H_
#define EVENKEEL_SERVER_METRICS_TRACE_FAMILIES_H_

#include <vector>

#include "prometheus/metric_family.h"
#include "server/tracing/tracer.h"

namespace evenkeel::server {

std::vector<prometheus::MetricFamily> TraceFamilies(const TraceCounters& counters);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_TRACE_FAMILIES_H_
