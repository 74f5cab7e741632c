#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "server/listener/http2_health.h"
#include "server/listener/self_probe.h"

namespace evenkeel::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr unsigned char kAlpn[] = {2, 'h', '2'};

// A non-blocking connection of the probe, with one deadline for everything that it does.
class ProbeConnection {
 public:
  ProbeConnection(std::chrono::milliseconds timeout, ProbeAddresses& probes, int stop_fd)
      : deadline_(SteadyClock::now() + timeout), probes_(probes), stop_fd_(stop_fd) {}
  ~ProbeConnection() {
    if (fd_ >= 0) close(fd_);
    probes_.Remove(own_);
  }
  ProbeConnection(const ProbeConnection&) = delete;
  ProbeConnection& operator=(const ProbeConnection&) = delete;

  std::string Connect(const ProbeTarget& target);
  std::string SendAll(std::string_view bytes);
  std::string Receive(std::string* bytes);  // appends at least one byte

 private:
  std::string WaitFor(short events);

  const SteadyClock::time_point deadline_;
  ProbeAddresses& probes_;
  const int stop_fd_;
  int fd_ = -1;
  sockaddr_storage own_{};
};

std::string ErrorText(const char* what) { return std::string(what) + ": " + strerror(errno); }

// Connects. A TCP socket is first bound to a separate port, and the accept loop is told the port
// before it sees the connection.
std::string ProbeConnection::Connect(const ProbeTarget& target) {
  const auto* address = reinterpret_cast<const sockaddr*>(&target.address);
  fd_ = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return ErrorText("socket");
  if (address->sa_family != AF_UNIX) {
    own_ = target.address;
    if (own_.ss_family == AF_INET) reinterpret_cast<sockaddr_in&>(own_).sin_port = 0;
    if (own_.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(own_).sin6_port = 0;
    socklen_t length = sizeof(own_);
    if (bind(fd_, reinterpret_cast<const sockaddr*>(&own_), target.length) != 0 ||
        getsockname(fd_, reinterpret_cast<sockaddr*>(&own_), &length) != 0) {
      return ErrorText("bind");
    }
    probes_.Add(own_);
  }
  if (connect(fd_, address, target.length) == 0) return {};
  if (errno != EINPROGRESS) return ErrorText("connect");
  std::string why = WaitFor(POLLOUT);
  if (!why.empty()) return why;
  int failed = 0;
  socklen_t length = sizeof(failed);
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &failed, &length);
  return failed == 0 ? std::string() : std::string("connect: ") + strerror(failed);
}

std::string ProbeConnection::WaitFor(short events) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - SteadyClock::now());
    if (left.count() <= 0) return "no answer in time";
    pollfd polled[] = {{fd_, events, 0}, {stop_fd_, POLLIN, 0}};
    if (poll(polled, 2, static_cast<int>(left.count())) < 0) continue;
    if (polled[1].revents != 0) return "stopped";
    if (polled[0].revents != 0) return {};
  }
}

std::string ProbeConnection::SendAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return ErrorText("send");
    const std::string why = WaitFor(POLLOUT);
    if (!why.empty()) return why;
  }
  return {};
}

std::string ProbeConnection::Receive(std::string* bytes) {
  for (;;) {
    char buffer[4096];
    const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
    if (got > 0) {
      bytes->append(buffer, static_cast<size_t>(got));
      return {};
    }
    if (got == 0) return "closed by the server";
    if (errno != EAGAIN && errno != EINTR) return ErrorText("recv");
    const std::string why = WaitFor(POLLIN);
    if (!why.empty()) return why;
  }
}

std::string CheckHealth(ProbeConnection* connection) {
  std::string why = connection->SendAll(HealthCheckBytes());
  std::string received;
  while (why.empty()) {
    why = connection->Receive(&received);
    if (!why.empty()) break;
    switch (ReadHealthAnswer(received)) {
      case HealthAnswer::kAnswered:
        return {};
      case HealthAnswer::kRefused:
        return "the call was refused";
      case HealthAnswer::kIncomplete:
        break;
    }
  }
  return why;
}

// Continues the handshake until the server has shown its certificate. Our own reply is never sent,
// because the server may require a certificate in it and would log that there is none.
std::string SeeCertificate(ProbeConnection* connection) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  if (ssl == nullptr) return "no memory for TLS";
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), in, out);  // ssl owns them now
  SSL_set_alpn_protos(ssl.get(), kAlpn, sizeof(kAlpn));
  SSL_set_connect_state(ssl.get());
  SSL_do_handshake(ssl.get());
  char* hello = nullptr;
  const long length = BIO_get_mem_data(out, &hello);
  std::string why = connection->SendAll({hello, static_cast<size_t>(length)});
  while (why.empty()) {
    std::string received;
    why = connection->Receive(&received);
    if (!why.empty()) break;
    BIO_write(in, received.data(), static_cast<int>(received.size()));
    const int result = SSL_do_handshake(ssl.get());
    if (SSL_get0_peer_certificate(ssl.get()) != nullptr) break;
    if (result != 1 && SSL_get_error(ssl.get(), result) != SSL_ERROR_WANT_READ) {
      why = "the TLS handshake failed";
    }
  }
  ERR_clear_error();
  return why;
}

}  // namespace

std::string ProbeOnce(const ProbeTarget& target, std::chrono::milliseconds timeout,
                      ProbeAddresses& probes, int stop_fd) {
  ProbeConnection connection(timeout, probes, stop_fd);
  const std::string why = connection.Connect(target);
  if (!why.empty()) return why;
  return target.is_tls ? SeeCertificate(&connection) : CheckHealth(&connection);
}

}  // namespace evenkeel::server
