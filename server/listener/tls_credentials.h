// Checked certificates as credentials of a gRPC server.
#ifndef EVENKEEL_SERVER_LISTENER_TLS_CREDENTIALS_H_
#define EVENKEEL_SERVER_LISTENER_TLS_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "server/listener/tls_files.h"

namespace evenkeel::server {

// Fixed: they never change, whatever happens to the files (but for lists of revoked certificates,
// which gRPC reads from `crl_folder` when it first needs them). With authorities of clients,
// clients must present a certificate. TLS 1.2 and 1.3.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(const TlsMaterial& material,
                                                            const std::string& crl_folder);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_TLS_CREDENTIALS_H_
