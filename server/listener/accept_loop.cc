#include "server/listener/accept_loop.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "server/log.h"

namespace evenkeel::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kAcceptsPerRound = 64;  // accepts from one socket before the others get their turn
constexpr int kAcceptsAtTheEnd = SOMAXCONN;
constexpr std::chrono::milliseconds kCountInterval{5};
constexpr std::chrono::milliseconds kPause{10};
constexpr std::chrono::seconds kLogInterval{10};

int OpenReserve() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

// Returns family, address and port as bytes, or "" for unix sockets.
std::string KeyOf(const sockaddr_storage& address) {
  const auto bytes = [](const auto& field) {
    return std::string(reinterpret_cast<const char*>(&field), sizeof(field));
  };
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return bytes(v4.sin_port) + bytes(v4.sin_addr);
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    return bytes(v6.sin6_port) + bytes(v6.sin6_addr);
  }
  return {};
}

void SetTcpOptions(int fd, double user_timeout_seconds) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto timeout = static_cast<unsigned>(user_timeout_seconds * 1000);
  if (timeout > 0) setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

}  // namespace

void ProbeAddresses::Add(const sockaddr_storage& address) {
  const MutexLock lock(mutex_);
  known_.insert(KeyOf(address));
}

void ProbeAddresses::Remove(const sockaddr_storage& address) {
  const MutexLock lock(mutex_);
  known_.erase(KeyOf(address));
}

bool ProbeAddresses::Contains(const sockaddr_storage& address) const {
  const std::string key = KeyOf(address);
  const MutexLock lock(mutex_);
  return !key.empty() && known_.contains(key);
}

AcceptLoop::AcceptLoop(std::vector<ListenSocket> sockets, AcceptLimits limits, Hosts& hosts,
                       ConnectionTable& table, const ProbeAddresses& probes,
                       std::function<void()> before_accept)
    : sockets_(std::move(sockets)),
      limits_(limits),
      hosts_(hosts),
      table_(table),
      probes_(probes),
      before_accept_(std::move(before_accept)),
      last_log_(SteadyClock::now() - kLogInterval),
      last_count_(SteadyClock::now() - kCountInterval),
      reserve_(OpenReserve()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "accept");
}

AcceptLoop::~AcceptLoop() {
  Stop();
  if (reserve_ >= 0) close(reserve_);
  close(wake_);
}

void AcceptLoop::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  thread_.join();
}

void AcceptLoop::Run() {
  std::vector<pollfd> polled;
  for (const ListenSocket& socket : sockets_) polled.push_back({socket.fd(), POLLIN, 0});
  polled.push_back({wake_, POLLIN, 0});
  while (polled.back().revents == 0) {
    if (poll(polled.data(), polled.size(), static_cast<int>(kLogInterval.count() * 1000)) < 0) {
      continue;
    }
    if (before_accept_) before_accept_();
    for (size_t i = 0; i < sockets_.size(); ++i) {
      if (polled[i].revents != 0) Accept(sockets_[i], kAcceptsPerRound);
    }
    LogShed(false);
  }
  for (const ListenSocket& socket : sockets_) Accept(socket, kAcceptsAtTheEnd);
  LogShed(true);
  sockets_.clear();
}

void AcceptLoop::Accept(const ListenSocket& socket, int at_most) {
  if (reserve_ < 0) reserve_ = OpenReserve();
  for (int i = 0; i < at_most && TakeOne(socket); ++i) {
  }
}

// Takes one connection. Returns false if none is waiting, or if it is useless to try the next at
// once.
bool AcceptLoop::TakeOne(const ListenSocket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  const int fd = accept4(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) {
      return ShedWithReserve(socket);
    }
    if (errno == ENOBUFS || errno == ENOMEM) std::this_thread::sleep_for(kPause);
    return errno == ECONNABORTED || errno == EINTR;
  }
  accepted_.fetch_add(1, std::memory_order_relaxed);
  Peer peer;
  peer.address = address;
  peer.is_unix = socket.is_unix();
  if (peer.is_unix) {
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
      Shed(fd, ShedConnection::kNotAllowed);
      return true;
    }
    peer.uid = credentials.uid;
    peer.gid = credentials.gid;
    peer.is_probe = credentials.pid == getpid();
  } else {
    peer.is_probe = probes_.Contains(address);
    SetTcpOptions(fd, limits_.tcp_user_timeout_seconds);
  }
  // A flood must not make the probe, and thus the process, conclude that nobody is served.
  if (!peer.is_probe && IsFull()) {
    Shed(fd, ShedConnection::kLimit);
  } else if (!hosts_.Serve(fd, peer)) {
    Shed(fd, ShedConnection::kNotAllowed);
  }
  return true;
}

// Returns true at the limit. All connections are then checked again, but not for each connection of
// a flood.
bool AcceptLoop::IsFull() {
  if (table_.upper_bound() < limits_.connections) return false;
  const SteadyClock::time_point now = SteadyClock::now();
  if (now - last_count_ < kCountInterval) return true;
  const size_t count = table_.Count();
  last_count_ = SteadyClock::now();
  return count >= limits_.connections;
}

// Closes a connection for which no descriptor is left. There may be no connection: accept4 looks
// for a descriptor first.
bool AcceptLoop::ShedWithReserve(const ListenSocket& socket) {
  if (reserve_ >= 0) close(reserve_);
  const int fd = accept4(socket.fd(), nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) Shed(fd, ShedConnection::kNoDescriptor);
  reserve_ = OpenReserve();
  // Another thread was faster. Waiting connections stay in the backlog meanwhile.
  if (fd < 0 || reserve_ < 0) std::this_thread::sleep_for(kPause);
  return fd >= 0;
}

void AcceptLoop::Shed(int fd, ShedConnection reason) {
  // It is counted first, so that an observer of the connection's end finds it in the metrics.
  shed_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  close(fd);
}

// Logs one line for many connections, so that a flood does not flood the log.
void AcceptLoop::LogShed(bool at_once) {
  uint64_t all = 0;
  for (const auto& count : shed_) all += count.load(std::memory_order_relaxed);
  const SteadyClock::time_point now = SteadyClock::now();
  if (all == logged_shed_ || (!at_once && now - last_log_ < kLogInterval)) return;
  LogLine(LogLevel::kWarning, "connections refused")
      .Add("limit", static_cast<int64_t>(shed(ShedConnection::kLimit)))
      .Add("no_descriptor", static_cast<int64_t>(shed(ShedConnection::kNoDescriptor)))
      .Add("not_allowed", static_cast<int64_t>(shed(ShedConnection::kNotAllowed)))
      .Add("connections_at_most", static_cast<int64_t>(limits_.connections));
  logged_shed_ = all;
  last_log_ = now;
}

}  // namespace evenkeel::server
