#include "server/listener/connection_table.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace evenkeel::server {
namespace {

// Returns an address of a peer in gRPC's spelling, or "" for unix sockets.
std::string PeerName(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    return std::string("ipv4:") + text + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  const std::string port = std::to_string(ntohs(v6.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {  // IPv4 on a socket for both families
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof(text));
    return std::string("ipv4:") + text + ":" + port;
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
  return std::string("ipv6:%5B") + text + "%5D:" + port;
}

}  // namespace

void ConnectionTable::Add(int fd, const GrpcHost* host, const sockaddr_storage& peer,
                          bool is_probe) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return;
  Connection connection{info.st_dev, info.st_ino, host, PeerName(peer), is_probe};
  const MutexLock lock(mutex_);
  Forget(fd);  // the former connection with this number is gone
  if (!connection.peer.empty()) by_peer_[connection.peer] = fd;
  probes_ += is_probe ? 1 : 0;
  connections_[fd] = std::move(connection);
}

void ConnectionTable::Forget(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  const auto named = by_peer_.find(found->second.peer);
  if (named != by_peer_.end() && named->second == fd) by_peer_.erase(named);
  probes_ -= found->second.is_probe ? 1 : 0;
  connections_.erase(found);
}

bool ConnectionTable::Lives(int fd, const Connection& connection) {
  struct stat info {};
  return fstat(fd, &info) == 0 && info.st_dev == connection.device &&
         info.st_ino == connection.inode;
}

int ConnectionTable::Find(const std::string& peer) const {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return -1;
  return Lives(found->second, connections_.at(found->second)) ? found->second : -1;
}

std::optional<uint64_t> ConnectionTable::BytesSentTo(const std::string& peer) const {
  const MutexLock lock(mutex_);
  tcp_info info{};
  socklen_t length = sizeof(info);
  const int fd = Find(peer);
  if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  return info.tcpi_bytes_sent;
}

bool ConnectionTable::Cut(const std::string& peer) {
  const MutexLock lock(mutex_);
  const int fd = Find(peer);
  by_peer_.erase(peer);  // once is enough, because calls that it sent before are still processed
  // This does not use shutdown(), which leaves megabytes of received data to be read, and accepts
  // more. connect() to nobody resets the connection and drops the data; gRPC sees an error and
  // closes the descriptor.
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  return fd >= 0 && connect(fd, &nobody, sizeof(nobody)) == 0;
}

void ConnectionTable::DropDead() {
  std::vector<int> dead;
  for (const auto& [fd, connection] : connections_) {
    if (!Lives(fd, connection)) dead.push_back(fd);
  }
  for (const int fd : dead) Forget(fd);
}

size_t ConnectionTable::Count() {
  const MutexLock lock(mutex_);
  DropDead();
  return connections_.size() - probes_;
}

size_t ConnectionTable::CountOf(const GrpcHost* host) {
  const MutexLock lock(mutex_);
  DropDead();
  return static_cast<size_t>(
      std::count_if(connections_.begin(), connections_.end(),
                    [host](const auto& entry) { return entry.second.host == host; }));
}

size_t ConnectionTable::upper_bound() const {
  const MutexLock lock(mutex_);
  return connections_.size() - probes_;
}

}  // namespace evenkeel::server
