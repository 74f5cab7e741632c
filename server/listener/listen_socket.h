// Listening sockets. They are bound here and not by gRPC, so that connections are accepted here.
#ifndef EVENKEEL_SERVER_LISTENER_LISTEN_SOCKET_H_
#define EVENKEEL_SERVER_LISTENER_LISTEN_SOCKET_H_

#include <sys/socket.h>

#include <string>
#include <vector>

namespace evenkeel::server {

// A listening socket. It closes itself, and removes the file of a unix socket.
class ListenSocket {
 public:
  // `fd` must be listening and non-blocking. `name` is for logs; `unix_path` is empty for TCP.
  ListenSocket(int fd, std::string name, std::string unix_path);
  ~ListenSocket();
  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket(const ListenSocket&) = delete;
  ListenSocket& operator=(const ListenSocket&) = delete;
  ListenSocket& operator=(ListenSocket&&) = delete;

  int fd() const { return fd_; }
  bool is_unix() const { return !unix_path_.empty(); }
  const std::string& name() const { return name_; }
  int port() const;  // 0 for a unix socket

  // Fills in the address at which this process itself reaches the socket: the loopback address for
  // a wildcard. Returns its length.
  socklen_t OwnAddress(sockaddr_storage* address) const;

 private:
  int fd_;
  std::string name_;
  std::string unix_path_;
};

// Binds HOST:PORT on every address that HOST stands for, or unix:/path with mode 0660. Replaces a
// socket file at which nobody answers. Port 0 takes a free port. Appends to *sockets. Returns
// false, with a reason that names the address in *error, if it cannot be bound.
bool OpenListenSockets(const std::string& address, std::vector<ListenSocket>* sockets,
                       std::string* error);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_LISTEN_SOCKET_H_
