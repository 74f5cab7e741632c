#include "server/admin/admin_address.h"

#include <arpa/inet.h>

#include "server/listen.h"

namespace evenkeel::server {
std::string_view WithoutBrackets(std::string_view host) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    return host.substr(1, host.size() - 2);
  }
  return host;
}

std::string CheckAdminAddress(std::string_view address) {
  if (address.starts_with("unix:")) return CheckListenAddress(address);
  const std::string problem = CheckTcpAddress(address);
  if (!problem.empty()) return problem;
  if (IsLoopback(address.substr(0, address.rfind(':')))) return {};
  return "must be a unix socket or a loopback address (127.0.0.1, [::1]), because there is no "
         "authentication";
}

bool IsLoopback(std::string_view host) {
  const std::string name(WithoutBrackets(host));
  in_addr address{};
  const bool is_v4 = inet_pton(AF_INET, name.c_str(), &address) == 1;
  return name == "localhost" || name == "::1" || (is_v4 && ntohl(address.s_addr) >> 24 == 127);
}

}  // namespace evenkeel::server
