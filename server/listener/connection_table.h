// Which accepted connections still live. gRPC owns their descriptors and tells nobody when it
// closes one, so each is known by its number and its inode: a number that was closed, or that
// belongs to something else by now, has another inode or none.
#ifndef EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_
#define EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace evenkeel::server {

class GrpcHost;

// Thread-safe.
class ConnectionTable {
 public:
  // `fd` is open, and about to be handed to `host`, which is only compared. `peer` is its address;
  // unix: none that matters. Probes of our own do not count.
  void Add(int fd, const GrpcHost* host, const sockaddr_storage& peer, bool is_probe);

  // Connections that live; looks at each of them (about 0.3 us).
  size_t Count();
  size_t CountOf(const GrpcHost* host);

  // Of the TCP connection from that peer, as gRPC spells it ("ipv4:10.0.0.7:1234"): how many bytes
  // it was sent so far; nothing: it is not here.
  std::optional<uint64_t> BytesSentTo(const std::string& peer) const;
  // Ends it. False: it is not here.
  bool Cut(const std::string& peer);

  // As of the last look, and what was added since: never less than what lives.
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
  int Find(const std::string& peer) const;  // negative: not here

  void DropDead();
  void Forget(int fd);

  mutable std::mutex mutex_;
  std::unordered_map<int, Connection> connections_;  // by descriptor
  std::unordered_map<std::string, int> by_peer_;
  size_t probes_ = 0;  // among connections_
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_
