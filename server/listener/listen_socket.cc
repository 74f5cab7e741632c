#include "server/listener/listen_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "server/listen.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

sockaddr* Generic(sockaddr_storage* address) { return reinterpret_cast<sockaddr*>(address); }

// Returns a socket that listens at `address`, or a negative number with errno set.
int BindAndListen(const sockaddr* address, socklen_t length) {
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fd;
  const int on = 1, off = 0;
  if (address->sa_family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Makes [::] accept IPv4 too, independently of the system's default.
  if (address->sa_family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(fd, address, length) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

std::string CannotListen(const std::string& address) {
  const std::string why = errno == EADDRINUSE ? "is it in use?" : std::strerror(errno);
  return "cannot listen on " + address + ": " + why;
}

bool OpenUnix(const std::string& address, std::vector<ListenSocket>* sockets, std::string* error) {
  *error = ClearStaleSocket(address);
  if (!error->empty()) return false;
  const std::string path = address.substr(kUnixPrefix.size());
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  const mode_t before = umask(0117);  // 0660 from the start
  const int fd = BindAndListen(reinterpret_cast<const sockaddr*>(&name), sizeof(name));
  if (fd < 0) *error = CannotListen(address);
  umask(before);
  if (fd >= 0) sockets->emplace_back(fd, address, path);
  return fd >= 0;
}

void SetPort(sockaddr* address, int port) {
  if (address->sa_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(static_cast<uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(static_cast<uint16_t>(port));
  }
}

bool OpenTcp(const std::string& address, std::vector<ListenSocket>* sockets, std::string* error) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (failed != 0) {
    *error = "cannot listen on " + address + ": " + gai_strerror(failed);
    return false;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &freeaddrinfo);
  const size_t before = sockets->size();
  int port = 0;  // the port that the first address got
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (port != 0) SetPort(one->ai_addr, port);
    const int fd = BindAndListen(one->ai_addr, one->ai_addrlen);
    if (fd >= 0) {
      sockets->emplace_back(fd, address, "");
      port = sockets->back().port();
      continue;
    }
    *error = CannotListen(address);
    // A name such as localhost may stand for an address of a family that this machine does not
    // have.
    if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) return false;
  }
  return sockets->size() > before;
}

}  // namespace

ListenSocket::ListenSocket(int fd, std::string name, std::string unix_path)
    : fd_(fd), name_(std::move(name)), unix_path_(std::move(unix_path)) {}

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      unix_path_(std::exchange(other.unix_path_, {})) {}

ListenSocket::~ListenSocket() {
  if (fd_ < 0) return;
  if (is_unix()) unlink(unix_path_.c_str());
  close(fd_);
}

int ListenSocket::port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(fd_, Generic(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return 0;
}

socklen_t ListenSocket::OwnAddress(sockaddr_storage* address) const {
  *address = {};
  socklen_t length = sizeof(*address);
  if (getsockname(fd_, Generic(address), &length) != 0) return 0;
  auto* v4 = reinterpret_cast<sockaddr_in*>(address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(address);
  if (address->ss_family == AF_INET && v4->sin_addr.s_addr == htonl(INADDR_ANY)) {
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (address->ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)) {
    v6->sin6_addr = in6addr_loopback;
  }
  return length;
}

bool OpenListenSockets(const std::string& address, std::vector<ListenSocket>* sockets,
                       std::string* error) {
  return address.starts_with(kUnixPrefix) ? OpenUnix(address, sockets, error)
                                          : OpenTcp(address, sockets, error);
}

}  // namespace evenkeel::server
