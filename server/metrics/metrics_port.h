// Serves GET /metrics over HTTP, and nothing else. It does not use prometheus::Exposer, because
// that adds metrics of its own whose names break Prometheus' rules.
#ifndef EVENKEEL_SERVER_METRICS_METRICS_PORT_H_
#define EVENKEEL_SERVER_METRICS_METRICS_PORT_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

struct mg_context;

namespace evenkeel::server {

class MetricsPort {
 public:
  // Opens the port. `address` is HOST:PORT; port 0 takes a free one. `scrape` is called from
  // threads of the port until the port is destroyed. Returns nullptr, with a reason in *error, if
  // the address cannot be bound.
  static std::unique_ptr<MetricsPort> Open(const std::string& address,
                                           std::function<std::string()> scrape, std::string* error);
  ~MetricsPort();
  MetricsPort(const MetricsPort&) = delete;
  MetricsPort& operator=(const MetricsPort&) = delete;

  int port() const { return port_; }

 private:
  explicit MetricsPort(std::function<std::string()> scrape);

  const std::function<std::string()> scrape_;
  std::string address_;
  std::string fault_;  // last complaint of the HTTP library while opening
  std::atomic<bool> opening_ = true;
  mg_context* context_ = nullptr;
  int port_ = 0;

  friend struct MetricsHttp;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_METRICS_PORT_H_
