#include "client/cli/backend/host_port.h"

#include "client/cli/base/parse_number.h"

namespace evenkeel::cli {

std::optional<HostPort> ParseHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const std::optional<int> port = ParseNumber<int>(address.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return std::nullopt;
  HostPort parsed{.host = address.substr(0, colon), .port = *port};
  const bool brackets = parsed.host.starts_with('[') && parsed.host.ends_with(']');
  if (brackets) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (parsed.host.empty() || (!brackets && parsed.host.find(':') != std::string::npos)) {
    return std::nullopt;
  }
  return parsed;
}

}  // namespace evenkeel::cli
