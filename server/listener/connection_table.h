// The accepted connections that are still alive. gRPC owns their descriptors and does not report
// when it closes one. So each connection is identified by its descriptor number and its inode: a
// number that was closed or reused has another inode or none.
#ifndef EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_
#define EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_

#include <absl/container/flat_hash_map.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server/base/mutex.h"

namespace evenkeel::server {

class GrpcHost;

// Thread-safe.
class ConnectionTable {
 public:
  // Adds a connection. `fd` is open and about to be handed to `host`, whose pointer is only
  // compared. `peer` is its address, which does not matter for unix sockets. Our own probes do not
  // count.
  void Add(int fd, const GrpcHost* host, const sockaddr_storage& peer, bool is_probe);

  // Returns the number of live connections. Checks each of them, which takes about 0.3 us.
  size_t Count();
  size_t CountOf(const GrpcHost* host);

  // Returns the number of bytes sent so far to the TCP connection from that peer, in gRPC's
  // spelling ("ipv4:10.0.0.7:1234"). Returns nullopt if it is not here.
  std::optional<uint64_t> BytesSentTo(const std::string& peer) const;
  // Ends the connection. Returns false if it is not here.
  bool Cut(const std::string& peer);

  // Returns the number at the last check plus the number added since. It is never below the number
  // of live connections.
  size_t upper_bound() const;

 private:
  struct Connection {
    dev_t device;
    ino_t inode;
    const GrpcHost* host;
    std::string peer;
    bool is_probe;
  };

  static bool Lives(int fd, const Connection& connection);
  // Returns the descriptor, or a negative number if the peer is not here.
  int Find(const std::string& peer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void DropDead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(int fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<int, Connection> connections_ ABSL_GUARDED_BY(mutex_);  // by descriptor
  absl::flat_hash_map<std::string, int> by_peer_ ABSL_GUARDED_BY(mutex_);
  size_t probes_ ABSL_GUARDED_BY(mutex_) = 0;  // number of probes among connections_
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_
