// Turns checked certificates into credentials of a gRPC server.
#ifndef EVENKEEL_SERVER_LISTENER_TLS_CREDENTIALS_H_
#define EVENKEEL_SERVER_LISTENER_TLS_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "server/listener/tls_files.h"

namespace evenkeel::server {

// Makes fixed credentials, which never change with the files (except for certificate revocation
// lists, which gRPC reads from `crl_folder` when it first needs them). With client authorities,
// clients must present a certificate. Allows TLS 1.2 and 1.3.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(const TlsMaterial& material,
                                                            const std::string& crl_folder);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_TLS_CREDENTIALS_H_
