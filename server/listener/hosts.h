// The gRPC hosts of the server, and the choice of a host for each connection.
#ifndef EVENKEEL_SERVER_LISTENER_HOSTS_H_
#define EVENKEEL_SERVER_LISTENER_HOSTS_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/base/mutex.h"
#include "server/listener/connection_table.h"
#include "server/listener/grpc_host.h"
#include "server/listener/listener_hooks.h"
#include "server/listener/reset_guard.h"
#include "server/options.h"

namespace evenkeel::server {

// Who connected, as the kernel reports it.
struct Peer {
  sockaddr_storage address{};
  bool is_unix = false;
  bool is_probe = false;  // the peer is this process itself
  uid_t uid = 0;          // for unix sockets only
  gid_t gid = 0;
};

// Thread-safe.
class Hosts {
 public:
  // If `unix_principal` is empty, all unix peers are alike and use the plaintext host. `table` must
  // outlive the hosts.
  Hosts(const Options& options, ServicesFactory services, UnixPrincipal unix_principal,
        ConnectionTable& table);
  ~Hosts();

  // Hands `fd` to its host and adds it to the table. Returns false if the peer may not connect;
  // `fd` is then still the caller's.
  bool Serve(int fd, const Peer& peer);

  // Serves new TCP connections with these credentials; existing ones keep theirs. Returns false,
  // and changes nothing, if gRPC refuses the credentials.
  bool SetTls(std::shared_ptr<grpc::ServerCredentials> credentials);

  void SetServing(bool serving);
  bool serving();

  // Ends hosts that SetTls replaced and that have no connection left. Returns how many remain.
  size_t EndRetired();

  // Returns the number of connections that were cut off; see ResetGuard.
  uint64_t cut() const { return reset_guard_.cut(); }

  // Ends all hosts; see GrpcHost.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  std::shared_ptr<GrpcHost> Make(std::shared_ptr<grpc::ServerCredentials> credentials,
                                 const std::string& principal)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<GrpcHost> Choose(const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::shared_ptr<GrpcHost>> All() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const ServicesFactory services_;
  const UnixPrincipal unix_principal_;
  ConnectionTable& table_;
  ResetGuard reset_guard_;
  std::optional<grpc::ResourceQuota> quota_;  // shared by all hosts
  mutable Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<GrpcHost> tls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<GrpcHost>> plain_ ABSL_GUARDED_BY(mutex_);  // by principal
  std::vector<std::shared_ptr<GrpcHost>> retired_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_HOSTS_H_
