// Which accepted connections still live. gRPC owns their descriptors and tells nobody when it
// closes one, so each is known by its number and its inode: a number that was closed, or that
// belongs to something else by now, has another inode or none.
#ifndef EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_
#define EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_

#include <sys/types.h>

#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace evenkeel::server {

class GrpcHost;

// Thread-safe.
class ConnectionTable {
 public:
  // `fd` is open, and about to be handed to `host`, which is only compared.
  void Add(int fd, const GrpcHost* host);

  // Connections that live; looks at each of them (about 0.3 us).
  size_t Count();
  size_t CountOf(const GrpcHost* host);

  // As of the last look, and what was added since: never less than what lives.
  size_t upper_bound() const;

 private:
  struct Connection {
    dev_t device;
    ino_t inode;
    const GrpcHost* host;
  };

  void DropDead();

  mutable std::mutex mutex_;
  std::unordered_map<int, Connection> connections_;  // by descriptor
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_CONNECTION_TABLE_H_
