// The policy: who may call what, and as which tenant. It is immutable once made, and free of gRPC.
#ifndef EVENKEEL_SERVER_AUTH_POLICY_H_
#define EVENKEEL_SERVER_AUTH_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/auth/caller.h"

namespace evenkeel::server {

struct PolicyRule {
  std::vector<std::string> principals;  // each passes CheckPrincipal
  std::string tenant;                   // empty for the default tenant
  std::vector<std::string> roles;
  std::vector<std::string> methods;  // in addition to those of the roles
};

// The other end of a connection.
struct PeerIdentity {
  // Proven identities, in order of preference; each passes IsIdentity. Empty if nothing is proven.
  std::vector<std::string> identities;
  std::string address;  // "ip:10.0.0.7" or "unix"; proves nothing
};

enum class Access {
  kAllowed,
  // Nothing is proven, and the policy does not allow this to callers without proof.
  kUnauthenticated,
  kMethodNotAllowed,  // the caller is proven, but may not do this
};

struct Decision {
  Access access = Access::kUnauthenticated;
  Caller caller;  // its tenant is empty unless access is kAllowed
};

// Ways in which the listener can learn who is calling.
struct ProofsOffered {
  bool client_certificates = false;  // TLS with a CA for clients
  bool unix_peers = false;           // the kernel names the user behind a unix socket
};

// Allows everything to everybody, as the default tenant.
Decision AllowWithoutPolicy(const PeerIdentity& peer);

class Policy {
 public:
  // REQUIRES: no principal occurs in two rules.
  explicit Policy(std::vector<PolicyRule> rules);

  // Only the first rule that names any identity of the peer decides: both what the peer may call
  // and which tenant it belongs to; "any" names all peers. A peer that no rule names may call
  // nothing.
  Decision Decide(const PeerIdentity& peer, std::string_view method) const;

  // Returns the one principal that stands for a user who connects over a unix socket, so that the
  // same rule decides the calls of all its connections: "uid:N", "gid:N", or "unix" if only "any"
  // names the user. Returns nullopt if no rule names the user and the connection should be refused.
  std::optional<std::string> PrincipalOfUnixPeer(uint32_t uid, uint32_t gid) const;

  // Returns why nobody could ever be allowed anything, or "" if somebody can.
  std::string CheckProvable(const ProofsOffered& offered) const;

  // Tenants of all rules; "" stands for the default tenant.
  const std::set<std::string>& tenants() const { return tenants_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  struct Grant {
    std::string tenant;
    std::set<std::string, std::less<>> methods;
    bool everything = false;  // has the role admin
  };

  size_t RuleFor(std::string_view identity) const;  // without "any"

  std::vector<Grant> grants_;  // by rule
  // The rule of each principal.
  std::map<std::string, size_t, std::less<>> exact_;
  std::map<std::string, size_t, std::less<>> subtrees_;  // "spiffe://example.org/ns/"
  size_t anyone_ = kNone;
  std::set<std::string> tenants_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_POLICY_H_
