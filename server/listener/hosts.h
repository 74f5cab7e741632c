// The gRPC hosts of the server, and which of them a connection goes to.
#ifndef EVENKEEL_SERVER_LISTENER_HOSTS_H_
#define EVENKEEL_SERVER_LISTENER_HOSTS_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/listener/connection_table.h"
#include "server/listener/grpc_host.h"
#include "server/listener/listener_hooks.h"
#include "server/listener/reset_guard.h"
#include "server/options.h"

namespace evenkeel::server {

// Who connected, as the kernel says.
struct Peer {
  sockaddr_storage address{};
  bool is_unix = false;
  bool is_probe = false;  // this process itself
  uid_t uid = 0;          // of unix sockets only
  gid_t gid = 0;
};

// Thread-safe.
class Hosts {
 public:
  // What is empty in `unix_principal` leaves all unix peers alike, on the plaintext host. `table`
  // outlives the hosts.
  Hosts(const Options& options, ServicesFactory services, UnixPrincipal unix_principal,
        ConnectionTable& table);
  ~Hosts();

  // The host that serves `fd`, and the entry in the table. False: the peer may not connect, and
  // `fd` is still the caller's.
  bool Serve(int fd, const Peer& peer);

  // From now on TCP connections are served with these credentials; those of before keep theirs.
  // False: gRPC refuses them, and nothing changed.
  bool SetTls(std::shared_ptr<grpc::ServerCredentials> credentials);

  void SetServing(bool serving);
  bool serving();

  // Ends hosts that SetTls replaced and that have no connection any more. Returns how many are
  // left.
  size_t EndRetired();

  // Connections that were cut off; see ResetGuard.
  uint64_t cut() const { return reset_guard_.cut(); }

  // Ends all; see GrpcHost.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  std::shared_ptr<GrpcHost> Make(std::shared_ptr<grpc::ServerCredentials> credentials,
                                 const std::string& principal);
  std::shared_ptr<GrpcHost> Choose(const Peer& peer);
  std::vector<std::shared_ptr<GrpcHost>> All() const;

  const Options options_;
  const ServicesFactory services_;
  const UnixPrincipal unix_principal_;
  ConnectionTable& table_;
  ResetGuard reset_guard_;
  std::optional<grpc::ResourceQuota> quota_;  // one for all hosts
  mutable std::mutex mutex_;                  // of all below
  bool serving_ = false;
  bool is_shut_down_ = false;
  std::shared_ptr<GrpcHost> tls_;
  std::map<std::string, std::shared_ptr<GrpcHost>> plain_;  // by principal
  std::vector<std::shared_ptr<GrpcHost>> retired_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_HOSTS_H_
