// Turns a gRPC status with google.rpc details into the message and exit code of the command.
#ifndef EVENKEEL_CLIENT_CLI_BACKEND_GRPC_ERRORS_H_
#define EVENKEEL_CLIENT_CLI_BACKEND_GRPC_ERRORS_H_

#include <grpcpp/support/status.h>

#include <optional>
#include <string>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {

// Returns the error of a `status` that is not OK. `server` is the address, for messages.
CommandError ErrorFromStatus(const grpc::Status& status, const std::string& server);

// Returns the delay in RetryInfo, in seconds, or nullopt if the status has none or does not ask for
// a retry.
std::optional<double> RetryDelay(const grpc::Status& status);

// Returns the error "no server at ...", with advice.
CommandError NoServer(const std::string& server, const std::string& reason);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BACKEND_GRPC_ERRORS_H_
