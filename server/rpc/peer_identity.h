// Who is at the other end of a call, as far as its connection proves it.
#ifndef EVENKEEL_SERVER_RPC_PEER_IDENTITY_H_
#define EVENKEEL_SERVER_RPC_PEER_IDENTITY_H_

#include <string>

#include "grpcpp/security/auth_context.h"
#include "grpcpp/server_context.h"
#include "server/auth/policy.h"

namespace evenkeel::server {

// `connection_principal`: what the listener knows of all connections of this service: "uid:1000" or
// "gid:1000" of a unix socket, as the kernel says; anything else proves nothing. Of a verified
// client certificate: its SPIFFE id, then its DNS names in alphabetical order.
PeerIdentity PeerOf(const grpc::ServerContextBase& context,
                    const std::string& connection_principal);

// The identities of PeerOf out of a certificate; none where the connection did not verify one.
std::vector<std::string> CertificateIdentities(const grpc::AuthContext& auth);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PEER_IDENTITY_H_
