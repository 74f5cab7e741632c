#include "server/metrics/redis_families.h"

#include <cstdint>
#include <utility>

#include "server/metrics/families.h"

namespace evenkeel::server {
namespace {

using prometheus::MetricType;
using Outcomes = std::vector<std::pair<const char*, uint64_t>>;

prometheus::MetricFamily Counted(const char* name, const char* help, const Outcomes& outcomes) {
  prometheus::MetricFamily family;
  for (const auto& [outcome, count] : outcomes) {
    prometheus::MetricFamily one = SingleMetric(name, help, MetricType::Counter,
                                                {{"outcome", outcome}}, static_cast<double>(count));
    one.metric.insert(one.metric.begin(), family.metric.begin(), family.metric.end());
    family = std::move(one);
  }
  return family;
}

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
  return {Counted("evenkeel_redis_lookups_total", "Look-ups of plans in the shared Redis.",
                  {{"hit", counters.hits},
                   {"miss", counters.misses},
                   {"error", counters.errors},
                   {"timeout", counters.timeouts},
                   {"refused", counters.refused}}),
          Counted("evenkeel_redis_writes_total", "Plans for the shared Redis.",
                  {{"written", counters.writes},
                   {"error", counters.write_errors},
                   {"dropped", counters.dropped_writes}}),
          SingleMetric("evenkeel_redis_breaker_state",
                       "0: the shared Redis is used, 1: tried again, 2: left alone for a while.",
                       MetricType::Gauge, {}, StateNumber(counters.breaker))};
}

}  // namespace evenkeel::server
