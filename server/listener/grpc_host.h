// One gRPC server without a port: connections are handed to it. There is one host per kind of
// connection, because credentials, and proofs about the peer, apply to all connections of a host.
#ifndef EVENKEEL_SERVER_LISTENER_GRPC_HOST_H_
#define EVENKEEL_SERVER_LISTENER_GRPC_HOST_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/base/mutex.h"
#include "server/listener/reset_guard.h"
#include "server/options.h"

namespace evenkeel::server {

using GrpcServices = std::vector<std::unique_ptr<grpc::Service>>;

// Makes the services of one host. `connection_principal` is the proven principal of all its
// callers, such as "uid:1000". If it is empty, only the call itself can prove something.
// Thread-safe.
using ServicesFactory = std::function<GrpcServices(const std::string& connection_principal)>;

class GrpcHost {
 public:
  // Serves grpc.health.v1 in addition to `services`, and reports NOT_SERVING until told otherwise.
  // `quota` may be null; `guard` must outlive the host. Returns nullptr if gRPC refuses the
  // credentials.
  static std::unique_ptr<GrpcHost> Start(const Options& options, grpc::ResourceQuota* quota,
                                         ResetGuard* guard,
                                         std::shared_ptr<grpc::ServerCredentials> credentials,
                                         GrpcServices services);
  ~GrpcHost();
  GrpcHost(const GrpcHost&) = delete;
  GrpcHost& operator=(const GrpcHost&) = delete;

  // Takes the connection `fd`, which must be non-blocking. After Shutdown, closes it.
  void Serve(int fd);

  void SetServing(bool serving);

  // Cancels calls that are still running at `deadline`. Returns when none is left.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  explicit GrpcHost(GrpcServices services) : services_(std::move(services)) {}

  const GrpcServices services_;  // outlives the server
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_
      ABSL_PT_GUARDED_BY(mutex_);
  Mutex mutex_;
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_GRPC_HOST_H_
