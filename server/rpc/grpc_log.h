// Writes gRPC's own messages to our log.
#ifndef EVENKEEL_SERVER_RPC_GRPC_LOG_H_
#define EVENKEEL_SERVER_RPC_GRPC_LOG_H_

namespace evenkeel::server {

// Call once, before a server or a channel is created. Only errors pass, unless GRPC_VERBOSITY asks
// for more.
void CaptureGrpcLog();

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_GRPC_LOG_H_
