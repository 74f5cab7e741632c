// Who may call what, and whose plans they see. Immutable once made; free of gRPC.
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
  std::string tenant;                   // empty: the default tenant
  std::vector<std::string> roles;
  std::vector<std::string> methods;  // besides those of the roles
};

// Who is at the other end of a connection.
struct PeerIdentity {
  // What is proven, in order of preference; each passes IsIdentity. Empty: nothing is.
  std::vector<std::string> identities;
  std::string address;  // "ip:10.0.0.7" or "unix": no proof
};

enum class Access {
  kAllowed,
  kUnauthenticated,   // nothing is proven, and callers without proof may not do this
  kMethodNotAllowed,  // proven, but it may not do this
};

struct Decision {
  Access access = Access::kUnauthenticated;
  Caller caller;  // its tenant is empty unless access is kAllowed
};

// Ways in which the listener can learn who calls.
struct ProofsOffered {
  bool client_certificates = false;  // TLS with a CA for clients
  bool unix_peers = false;           // the kernel names the user behind a unix socket
};

// Without a policy everybody may do everything, as the default tenant.
Decision AllowWithoutPolicy(const PeerIdentity& peer);

class Policy {
 public:
  // REQUIRES: no principal stands in two rules.
  explicit Policy(std::vector<PolicyRule> rules);

  // The first rule that names any identity of the peer decides, alone, both what it may call and
  // which tenant it is; "any" names all peers. Whom no rule names may call nothing.
  Decision Decide(const PeerIdentity& peer, std::string_view method) const;

  // The one principal that stands for a user who connects over a unix socket, so that calls of all
  // its connections are decided by the same rule: "uid:N", "gid:N", or "unix" for whom only "any"
  // names. nullopt: nobody does, and the connection should be refused.
  std::optional<std::string> PrincipalOfUnixPeer(uint32_t uid, uint32_t gid) const;

  // Why nobody could ever be allowed anything; empty: somebody can.
  std::string CheckProvable(const ProofsOffered& offered) const;

  // Of all rules; "" stands for the default tenant.
  const std::set<std::string>& tenants() const { return tenants_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  struct Grant {
    std::string tenant;
    std::set<std::string, std::less<>> methods;
    bool everything = false;  // the role admin
  };

  size_t RuleFor(std::string_view identity) const;  // without "any"

  std::vector<Grant> grants_;  // by rule
  // Of each principal, its rule.
  std::map<std::string, size_t, std::less<>> exact_;
  std::map<std::string, size_t, std::less<>> subtrees_;  // "spiffe://example.org/ns/"
  size_t anyone_ = kNone;
  std::set<std::string> tenants_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_POLICY_H_
