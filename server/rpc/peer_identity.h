// Identifies the other end of a call, as far as its connection proves it.
#ifndef EVENKEEL_SERVER_RPC_PEER_IDENTITY_H_
#define EVENKEEL_SERVER_RPC_PEER_IDENTITY_H_

#include <string>

#include "grpcpp/security/auth_context.h"
#include "grpcpp/server_context.h"
#include "server/auth/policy.h"

namespace evenkeel::server {

// Returns the identity of the peer. `connection_principal` is what the listener knows about all
// connections of this service: "uid:1000" or "gid:1000" for a unix socket, as the kernel reports
// it; anything else proves nothing. A verified client certificate gives its SPIFFE id, then its DNS
// names in alphabetical order.
PeerIdentity PeerOf(const grpc::ServerContextBase& context,
                    const std::string& connection_principal);

// Returns the identities that a certificate gives, or none if the connection did not verify one.
std::vector<std::string> CertificateIdentities(const grpc::AuthContext& auth);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PEER_IDENTITY_H_
