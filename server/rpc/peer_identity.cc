#include "server/rpc/peer_identity.h"

#include <grpc/grpc_security_constants.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "server/auth/principal.h"

namespace evenkeel::server {
namespace {

// Returns the address of the peer. gRPC spells it "ipv4:10.0.0.7:1234", "ipv6:%5B::1%5D:1234" or
// "unix:".
std::string AddressOf(const grpc::ServerContextBase& context) {
  const std::string peer = context.peer();
  const size_t colon = peer.find(':');
  if (colon == std::string::npos || !peer.starts_with("ip")) return "unix";
  return "ip:" + peer.substr(colon + 1, peer.rfind(':') - colon - 1);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

// Returns the identities of a verified certificate. gRPC sets peer_spiffe_id only for a certificate
// with exactly one URI, as the standard requires: with several, none can be trusted to be the id.
std::vector<std::string> CertificateIdentities(const grpc::AuthContext& auth) {
  std::vector<std::string> identities;
  if (!auth.IsPeerAuthenticated()) return identities;
  for (const grpc::string_ref& id : auth.FindPropertyValues(GRPC_PEER_SPIFFE_ID_PROPERTY_NAME)) {
    std::string text(id.data(), id.size());
    if (text.starts_with("spiffe://") && IsIdentity(text)) identities.push_back(std::move(text));
  }
  std::set<std::string> names;
  for (const grpc::string_ref& name : auth.FindPropertyValues(GRPC_PEER_DNS_PROPERTY_NAME)) {
    std::string text = "dns:" + Lower({name.data(), name.size()});
    if (IsIdentity(text)) names.insert(std::move(text));
  }
  identities.insert(identities.end(), names.begin(), names.end());
  return identities;
}

PeerIdentity PeerOf(const grpc::ServerContextBase& context,
                    const std::string& connection_principal) {
  PeerIdentity peer;
  if (connection_principal.starts_with("uid:") || connection_principal.starts_with("gid:")) {
    peer.identities.push_back(connection_principal);
    return peer;
  }
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (auth != nullptr) peer.identities = CertificateIdentities(*auth);
  if (peer.identities.empty()) peer.address = AddressOf(context);
  return peer;
}

}  // namespace evenkeel::server
