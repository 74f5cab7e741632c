// Addresses of servers.
#ifndef EVENKEEL_CLIENT_CLI_BACKEND_HOST_PORT_H_
#define EVENKEEL_CLIENT_CLI_BACKEND_HOST_PORT_H_

#include <optional>
#include <string>

namespace evenkeel::cli {

struct HostPort {
  std::string host;  // IPv6 without its brackets
  int port = 0;      // 1 to 65535
};

// Parses HOST:PORT, with brackets around an IPv6 host. Returns nullopt if it is something else.
std::optional<HostPort> ParseHostPort(const std::string& address);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BACKEND_HOST_PORT_H_
