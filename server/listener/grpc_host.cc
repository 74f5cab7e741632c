#include "server/listener/grpc_host.h"

#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server/rpc/methods.h"

namespace evenkeel::server {
namespace {

constexpr int kReadBytes = 16 << 10;

int Milliseconds(double seconds) { return static_cast<int>(std::min(seconds, 2e6) * 1000); }

void SetLimits(const Options& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(options.max_request_bytes));
  // gRPC inflates a compressed message before it checks its size, so compression is refused.
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              static_cast<int>(options.max_concurrent_streams));
  // gRPC processes all frames of one read together. This limits the work for a peer that opens and
  // resets calls before the others get their turn.
  builder->AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
  builder->AddChannelArgument(GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, kReadBytes);
  builder->AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytes);
  // Covers the TLS handshake and HTTP/2's preface and first SETTINGS.
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              Milliseconds(options.handshake_timeout_seconds));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                              Milliseconds(options.keepalive_time_seconds));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              Milliseconds(options.keepalive_timeout_seconds));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              Milliseconds(options.min_ping_interval_seconds));
  const auto add_unless_zero = [builder](const char* name, double seconds) {
    if (seconds > 0) builder->AddChannelArgument(name, Milliseconds(seconds));
  };
  add_unless_zero(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.max_connection_idle_seconds);
  add_unless_zero(GRPC_ARG_MAX_CONNECTION_AGE_MS, options.max_connection_age_seconds);
  if (options.max_connection_age_seconds > 0) {
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                                Milliseconds(options.max_connection_age_grace_seconds));
  }
}

}  // namespace

std::unique_ptr<GrpcHost> GrpcHost::Start(const Options& options, grpc::ResourceQuota* quota,
                                          ResetGuard* guard,
                                          std::shared_ptr<grpc::ServerCredentials> credentials,
                                          GrpcServices services) {
  grpc::EnableDefaultHealthCheckService(true);
  std::unique_ptr<GrpcHost> host(new GrpcHost(std::move(services)));
  grpc::ServerBuilder builder;
  SetLimits(options, &builder);
  if (quota != nullptr) builder.SetResourceQuota(*quota);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> observers;
  observers.push_back(guard->MakeObserver());
  builder.experimental().SetInterceptorCreators(std::move(observers));
  for (const auto& service : host->services_) builder.RegisterService(service.get());
  host->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      std::move(credentials));
  host->server_ = builder.BuildAndStart();
  if (host->server_ == nullptr) return nullptr;
  host->SetServing(false);
  return host;
}

GrpcHost::~GrpcHost() {
  if (server_ != nullptr) Shutdown(std::chrono::system_clock::now());
}

void GrpcHost::Serve(int fd) {
  const MutexLock lock(mutex_);
  if (is_shut_down_) {  // gRPC would forget to close it
    close(fd);
    return;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd;
  acceptor_->HandleNewConnection(&connection);
}

void GrpcHost::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  health->SetServingStatus(serving);
  health->SetServingStatus(kServiceName, serving);
}

void GrpcHost::Shutdown(std::chrono::system_clock::time_point deadline) {
  {
    const MutexLock lock(mutex_);
    if (is_shut_down_) return;
    is_shut_down_ = true;
  }
  server_->Shutdown(deadline);
  server_->Wait();
}

}  // namespace evenkeel::server
