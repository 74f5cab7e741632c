#include "server/listen.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace evenkeel::server {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kMaxPort = 65535;

// Returns true if a server accepts connections there, or if that is not certain.
bool SomebodyListens(const std::string& path) {
  const int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_fd < 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int result =
      connect(socket_fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool refused = result != 0 && errno == ECONNREFUSED;
  close(socket_fd);
  return !refused;
}

}  // namespace

std::string CheckTcpAddress(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return "must be HOST:PORT";
  const std::string_view host = address.substr(0, colon);
  if (host.find(':') != std::string_view::npos && (host.front() != '[' || host.back() != ']')) {
    return "needs brackets around an IPv6 host: [::1]:50051";
  }
  const std::string_view digits = address.substr(colon + 1);
  int port = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 0 || port > kMaxPort) {
    return "needs a port from 0 to 65535 after the last colon";
  }
  return {};
}

std::string CheckListenAddress(std::string_view address) {
  if (!address.starts_with(kUnixPrefix)) return CheckTcpAddress(address);
  const std::string_view path = address.substr(kUnixPrefix.size());
  if (!path.starts_with('/')) return "needs an absolute path: unix:/run/evenkeel/evenkeel.sock";
  if (path.size() > kMaxPathBytes) return "has a path of more than 107 bytes";
  return {};
}

bool StaysOnThisMachine(std::string_view address) {
  if (address.starts_with(kUnixPrefix)) return true;
  const std::string host(address.substr(0, address.rfind(':')));
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
  return host == "localhost" || host == "[::1]";
}

std::string ClearStaleSocket(const std::string& address) {
  if (!address.starts_with(kUnixPrefix)) return {};
  const std::string path = address.substr(kUnixPrefix.size());
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return {};  // it does not exist, or bind will report why
  if (!S_ISSOCK(info.st_mode)) return path + " exists and is not a socket";
  if (SomebodyListens(path)) return "another server listens on " + path;
  if (unlink(path.c_str()) != 0) return "cannot remove the stale socket " + path;
  return {};
}

}  // namespace evenkeel::server
