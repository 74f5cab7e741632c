#include "server/metrics/redis_families.h"

#include "server/metrics/families.h"

namespace evenkeel::server {
namespace {

using prometheus::MetricType;

int StateNumber(CircuitBreaker::State state) {
  switch (state) {
    case CircuitBreaker::State::kClosed:
      return 0;
    case CircuitBreaker::State::kHalfOpen:
      return 1;
    case CircuitBreaker::State::kOpen:
      break;
  }
  return 2;
}

}  // namespace

std::vector<prometheus::MetricFamily> RedisFamilies(const RedisTierCounters& counters) {
  return {CountedByOutcome("evenkeel_redis_lookups_total", "Look-ups of plans in the shared Redis.",
                           {{"hit", counters.hits},
                            {"miss", counters.misses},
                            {"error", counters.errors},
                            {"timeout", counters.timeouts},
                            {"refused", counters.refused}}),
          CountedByOutcome("evenkeel_redis_writes_total", "Plans for the shared Redis.",
                           {{"written", counters.writes},
                            {"error", counters.write_errors},
                            {"dropped", counters.dropped_writes}}),
          SingleMetric("evenkeel_redis_breaker_state",
                       "0: the shared Redis is used, 1: tried again, 2: left alone for a while.",
                       MetricType::Gauge, {}, StateNumber(counters.breaker))};
}

}  // namespace evenkeel::server
