#include "server/metrics/metrics_port.h"

#include <civetweb.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace evenkeel::server {
namespace {

// Connects to HOST:`port` and hangs up; `address` is HOST:PORT. Failures do not matter.
void Knock(const std::string& address, int port) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) {
    (void)connect(fd, found->ai_addr, found->ai_addrlen);
    close(fd);
  }
  freeaddrinfo(found);
}

}  // namespace

// Callbacks of the HTTP library.
struct MetricsHttp {
  // Answers every request, so that the library never serves files itself.
  static int Answer(mg_connection* connection) {
    const mg_request_info* request = mg_get_request_info(connection);
    if (std::strcmp(request->local_uri, "/metrics") != 0) {
      return Reply(connection, "404 Not Found", "Only /metrics is here.\n", true);
    }
    const bool head = std::strcmp(request->request_method, "HEAD") == 0;
    if (!head && std::strcmp(request->request_method, "GET") != 0) {
      return Reply(connection, "405 Method Not Allowed", "Only GET and HEAD work here.\n", true);
    }
    const auto* port = static_cast<const MetricsPort*>(request->user_data);
    return Reply(connection, "200 OK", port->scrape_(), !head);
  }

  static int Log(const mg_connection* connection, const char* message) {
    const mg_context* context = mg_get_context(connection);
    auto* port = static_cast<MetricsPort*>(mg_get_user_data(context));
    if (port != nullptr && port->opening_) port->fault_ = message;
    return 1;  // not written to the library's own log
  }

 private:
  static int Reply(mg_connection* connection, const char* status, const std::string& body,
                   bool with_body) {
    mg_printf(connection,
              "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
              "Content-Length: %zu\r\nConnection: close\r\n\r\n",
              status, body.size());
    if (with_body) mg_write(connection, body.data(), body.size());
    return 1;
  }
};

MetricsPort::MetricsPort(std::function<std::string()> scrape) : scrape_(std::move(scrape)) {}

std::unique_ptr<MetricsPort> MetricsPort::Open(const std::string& address,
                                               std::function<std::string()> scrape,
                                               std::string* error) {
  std::unique_ptr<MetricsPort> port(new MetricsPort(std::move(scrape)));
  // There are two threads, so that one slow reader does not hold up the other.
  const char* options[] = {"listening_ports",
                           address.c_str(),
                           "num_threads",
                           "2",
                           "request_timeout_ms",
                           "5000",
                           "enable_directory_listing",
                           "no",
                           nullptr};
  port->address_ = address;
  mg_callbacks callbacks{};
  callbacks.begin_request = &MetricsHttp::Answer;
  callbacks.log_message = &MetricsHttp::Log;
  port->context_ = mg_start(&callbacks, port.get(), options);
  if (port->context_ == nullptr) {
    *error = "cannot serve metrics on " + address +
             (port->fault_.empty() ? std::string() : ": " + port->fault_);
    return nullptr;
  }
  port->opening_ = false;
  mg_server_port ports[1] = {};
  if (mg_get_server_ports(port->context_, 1, ports) == 1) port->port_ = ports[0].port;
  return port;
}

// The library's listening thread checks its stop flag only every two seconds, or when somebody
// connects. So the destructor connects.
MetricsPort::~MetricsPort() {
  if (context_ == nullptr) return;
  std::atomic<bool> stopped = false;
  std::thread stop([this, &stopped] {
    mg_stop(context_);
    stopped = true;
  });
  while (!stopped) {
    Knock(address_, port_);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stop.join();
}

}  // namespace evenkeel::server
