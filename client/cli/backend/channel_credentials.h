// Credentials of the channel to the server: TLS or none.
#ifndef EVENKEEL_CLIENT_CLI_BACKEND_CHANNEL_CREDENTIALS_H_
#define EVENKEEL_CLIENT_CLI_BACKEND_CHANNEL_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "client/cli/backend/backend.h"

namespace evenkeel::cli {

// Makes the credentials. Throws CommandError(kBadInput) if a file cannot be read, or if a flag is
// given without those that it needs.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const TlsFiles& tls);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BACKEND_CHANNEL_CREDENTIALS_H_
