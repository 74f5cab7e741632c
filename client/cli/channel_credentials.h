// TLS or not, towards the server.
#ifndef EVENKEEL_CLIENT_CLI_CHANNEL_CREDENTIALS_H_
#define EVENKEEL_CLIENT_CLI_CHANNEL_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "client/cli/backend.h"

namespace evenkeel::cli {

// Throws CommandError(kBadInput) where a file cannot be read, or what belongs together is not
// there.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const TlsFiles& tls);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_CHANNEL_CREDENTIALS_H_
