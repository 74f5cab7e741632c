#include "client/cli/backend/host_port.h"

#include <charconv>
#include <system_error>

namespace evenkeel::cli {

std::optional<HostPort> ParseHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  HostPort parsed{.host = address.substr(0, colon)};
  const char* const end = address.data() + address.size();
  const auto [at, error] = std::from_chars(address.data() + colon + 1, end, parsed.port);
  if (error != std::errc() || at != end || parsed.port < 1 || parsed.port > 65535) {
    return std::nullopt;
  }
  const bool brackets = parsed.host.starts_with('[') && parsed.host.ends_with(']');
  if (brackets) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (parsed.host.empty() || (!brackets && parsed.host.find(':') != std::string::npos)) {
    return std::nullopt;
  }
  return parsed;
}

}  // namespace evenkeel::cli
