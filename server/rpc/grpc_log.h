// Brings what gRPC itself reports into our log.
#ifndef EVENKEEL_SERVER_RPC_GRPC_LOG_H_
#define EVENKEEL_SERVER_RPC_GRPC_LOG_H_

namespace evenkeel::server {

// Once, before a server or a channel is made. Only errors pass, unless GRPC_VERBOSITY asks for
// more.
void CaptureGrpcLog();

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_GRPC_LOG_H_
