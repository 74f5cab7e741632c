// The process_* figures that Prometheus clients provide by convention; prometheus-cpp does not have
// them.
#ifndef EVENKEEL_SERVER_METRICS_PROCESS_COLLECTOR_H_
#define EVENKEEL_SERVER_METRICS_PROCESS_COLLECTOR_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace evenkeel::server {

// Reads /proc at every scrape. A figure that cannot be read is left out.
class ProcessCollector : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_PROCESS_COLLECTOR_H_
