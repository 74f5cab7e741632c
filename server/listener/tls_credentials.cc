#include "server/listener/tls_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

namespace evenkeel::server {

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(const TlsMaterial& material,
                                                            const std::string& crl_folder) {
  const bool asks_clients = !material.client_ca.empty();
  // This does not use gRPC's file watcher, which aborts the process at an empty file.
  const auto provider = std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
      material.client_ca,
      std::vector<grpc::experimental::IdentityKeyCertPair>{{material.key, material.certificate}});
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (asks_clients) {
    options.watch_root_certs();
    if (!crl_folder.empty()) options.set_crl_directory(crl_folder);
  }
  options.set_cert_request_type(asks_clients
                                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace evenkeel::server
