#include "server/metrics/listener_families.h"

#include "server/metrics/families.h"

namespace evenkeel::server {
namespace {

using prometheus::MetricType;

constexpr const char* kShedConnectionNames[kShedConnections] = {"limit", "no_descriptor",
                                                                "not_allowed"};

}  // namespace

std::vector<prometheus::MetricFamily> ListenerFamilies(const ListenerGauges& gauges) {
  std::vector<prometheus::MetricFamily> families;
  const auto add = [&families](const char* name, const char* help, MetricType type, auto value) {
    families.push_back(SingleMetric(name, help, type, {}, static_cast<double>(value)));
  };
  add("evenkeel_connections", "Connections that live.", MetricType::Gauge, gauges.connections);
  add("evenkeel_connections_limit", "Maximum live connections at a time.", MetricType::Gauge,
      gauges.connections_at_most);
  prometheus::MetricFamily shed =
      SingleMetric("evenkeel_connections_shed_total",
                   "Connections closed as soon as they were accepted.", MetricType::Counter, {}, 0);
  const prometheus::ClientMetric blank = shed.metric.front();
  shed.metric.clear();
  for (size_t i = 0; i < kShedConnections; ++i) {
    shed.metric.push_back(blank);
    shed.metric.back().label = {{"reason", kShedConnectionNames[i]}};
    shed.metric.back().counter.value = static_cast<double>(gauges.shed[i]);
  }
  families.push_back(std::move(shed));
  add("evenkeel_connections_cut_total", "Connections cut off because they reset their calls.",
      MetricType::Counter, gauges.cut);
  add("evenkeel_self_probe_failures_total",
      "Times that the server did not answer at an address of its own.", MetricType::Counter,
      gauges.probe_failures);
  if (!gauges.tls.is_on) return families;
  add("evenkeel_tls_files_ok", "1: what is served is what the TLS files say.", MetricType::Gauge,
      gauges.tls.files_ok ? 1 : 0);
  add("evenkeel_tls_reloads_total", "New certificates taken.", MetricType::Counter,
      gauges.tls.reloads);
  add("evenkeel_tls_reload_failures_total", "Looks at TLS files that could not be used.",
      MetricType::Counter, gauges.tls.reload_failures);
  add("evenkeel_cert_expiry_timestamp_seconds", "When the certificate that is served expires.",
      MetricType::Gauge, gauges.tls.expiry_unix_seconds);
  return families;
}

}  // namespace evenkeel::server
