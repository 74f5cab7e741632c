// Accepts connections, and keeps accepting after every kind of failure. gRPC's own listener never
// accepts again once the process has run out of descriptors.
#ifndef EVENKEEL_SERVER_LISTENER_ACCEPT_LOOP_H_
#define EVENKEEL_SERVER_LISTENER_ACCEPT_LOOP_H_

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/base/mutex.h"
#include "server/listener/connection_table.h"
#include "server/listener/hosts.h"
#include "server/listener/listen_socket.h"
#include "server/metrics/listener_gauges.h"

namespace evenkeel::server {

// Local addresses of the server's own probes, by which the accept loop recognises them.
// Thread-safe.
class ProbeAddresses {
 public:
  void Add(const sockaddr_storage& address);
  void Remove(const sockaddr_storage& address);
  bool Contains(const sockaddr_storage& address) const;

 private:
  mutable Mutex mutex_;
  std::set<std::string> known_ ABSL_GUARDED_BY(mutex_);
};

struct AcceptLimits {
  size_t connections = 0;  // limit on live connections; probes are not counted
  // Time for sent data to be acknowledged. 0 means the system's default.
  double tcp_user_timeout_seconds = 0;
};

class AcceptLoop {
 public:
  // Takes `sockets` and starts. `hosts`, `table` and `probes` must outlive the loop.
  // `before_accept`, for tests that make the loop hang, is called before each round.
  AcceptLoop(std::vector<ListenSocket> sockets, AcceptLimits limits, Hosts& hosts,
             ConnectionTable& table, const ProbeAddresses& probes,
             std::function<void()> before_accept = {});
  ~AcceptLoop();
  AcceptLoop(const AcceptLoop&) = delete;
  AcceptLoop& operator=(const AcceptLoop&) = delete;

  // Accepts the connections that have arrived so far, then closes the sockets. Returns when that is
  // done.
  void Stop();

  // Returns the number of accepted connections, including probes and those that were shed.
  uint64_t accepted() const { return accepted_; }
  uint64_t shed(ShedConnection reason) const { return shed_[static_cast<size_t>(reason)]; }

 private:
  void Run();
  void Accept(const ListenSocket& socket, int at_most);
  bool TakeOne(const ListenSocket& socket);
  bool ShedWithReserve(const ListenSocket& socket);
  void Shed(int fd, ShedConnection reason);
  bool IsFull();
  void LogShed(bool at_once);

  std::vector<ListenSocket> sockets_;  // used only by the thread once it has started
  const AcceptLimits limits_;
  Hosts& hosts_;
  ConnectionTable& table_;
  const ProbeAddresses& probes_;
  const std::function<void()> before_accept_;
  std::array<std::atomic<uint64_t>, kShedConnections> shed_{};
  std::atomic<uint64_t> accepted_ = 0;
  uint64_t logged_shed_ = 0;
  std::chrono::steady_clock::time_point last_log_;
  std::chrono::steady_clock::time_point last_count_;
  // Given up briefly to accept and close connections for which there is no descriptor.
  int reserve_;
  int wake_;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_ACCEPT_LOOP_H_
