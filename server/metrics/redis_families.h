// Metrics of the Redis in which replicas share plans.
#ifndef EVENKEEL_SERVER_METRICS_REDIS_FAMILIES_H_
#define EVENKEEL_SERVER_METRICS_REDIS_FAMILIES_H_

#include <vector>

#include "prometheus/metric_family.h"
#include "server/redis/redis_tier.h"

namespace evenkeel::server {

std::vector<prometheus::MetricFamily> RedisFamilies(const RedisTierCounters& counters);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_REDIS_FAMILIES_H_
