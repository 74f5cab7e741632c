#include "server/metrics/trace_families.h"

#include "server/metrics/families.h"

namespace evenkeel::server {

using prometheus::MetricType;

std::vector<prometheus::MetricFamily> TraceFamilies(const TraceCounters& counters) {
  return {CountedByOutcome("evenkeel_spans_total", "Spans for the OTLP receiver.",
                           {{"exported", counters.exported},
                            {"dropped", counters.dropped},
                            {"failed", counters.failed}}),
          SingleMetric("evenkeel_spans_waiting", "Spans that are not sent yet.", MetricType::Gauge,
                       {}, static_cast<double>(counters.waiting))};
}

}  // namespace evenkeel::server
