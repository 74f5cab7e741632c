#include "server/auth/policy.h"

#include <algorithm>
#include <utility>

#include "server/auth/principal.h"
#include "server/auth/roles.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kUnix = "unix";

std::string PrincipalOf(const PeerIdentity& peer) {
  return peer.identities.empty() ? peer.address : peer.identities.front();
}

}  // namespace

Decision AllowWithoutPolicy(const PeerIdentity& peer) {
  return {Access::kAllowed, {PrincipalOf(peer), ""}};
}

Policy::Policy(std::vector<PolicyRule> rules) {
  for (PolicyRule& rule : rules) {
    const size_t number = grants_.size();
    for (std::string& principal : rule.principals) {
      const std::string_view subtree = SubtreeOf(principal);
      if (principal == kAnyone) {
        anyone_ = std::min(anyone_, number);
      } else if (!subtree.empty()) {
        subtrees_.emplace(subtree, number);
      } else {
        exact_.emplace(std::move(principal), number);
      }
    }
    Grant grant;
    for (const RoleOfMethod& known : RolesOfMethods()) {
      const bool has = std::any_of(rule.roles.begin(), rule.roles.end(),
                                   [&](const auto& role) { return RoleHas(role, known.method); });
      if (has) grant.methods.emplace(known.method);
    }
    grant.methods.insert(rule.methods.begin(), rule.methods.end());
    grant.everything =
        std::find(rule.roles.begin(), rule.roles.end(), kAdminRole) != rule.roles.end();
    tenants_.insert(rule.tenant);
    grant.tenant = std::move(rule.tenant);
    grants_.push_back(std::move(grant));
  }
}

size_t Policy::RuleFor(std::string_view identity) const {
  const auto exact = exact_.find(identity);
  size_t first = exact == exact_.end() ? kNone : exact->second;
  if (subtrees_.empty() || !identity.starts_with("spiffe://")) return first;
  for (size_t at = identity.find('/', 9); at != std::string_view::npos;
       at = identity.find('/', at + 1)) {
    const auto subtree = subtrees_.find(identity.substr(0, at + 1));
    if (subtree != subtrees_.end()) first = std::min(first, subtree->second);
  }
  return first;
}

Decision Policy::Decide(const PeerIdentity& peer, std::string_view method) const {
  size_t rule = kNone;
  std::string principal;
  for (const std::string& identity : peer.identities) {
    const size_t named = RuleFor(identity);
    if (named >= rule) continue;
    rule = named;
    principal = identity;
  }
  if (rule == kNone || anyone_ < rule) {
    rule = anyone_;
    principal = PrincipalOf(peer);
  }
  if (rule != kNone) {
    const Grant& grant = grants_[rule];
    if (grant.everything || grant.methods.find(method) != grant.methods.end()) {
      return {Access::kAllowed, {std::move(principal), grant.tenant}};
    }
  }
  const bool is_proven = !peer.identities.empty();
  return {is_proven ? Access::kMethodNotAllowed : Access::kUnauthenticated,
          {std::move(principal), ""}};
}

std::optional<std::string> Policy::PrincipalOfUnixPeer(uint32_t uid, uint32_t gid) const {
  const std::string user = "uid:" + std::to_string(uid), group = "gid:" + std::to_string(gid);
  const size_t by_user = RuleFor(user), by_group = RuleFor(group);
  const size_t first = std::min({by_user, by_group, anyone_});
  if (first == kNone) return std::nullopt;
  if (by_user == first) return user;
  return by_group == first ? group : std::string(kUnix);
}

std::string Policy::CheckProvable(const ProofsOffered& offered) const {
  if (anyone_ != kNone) return {};
  bool names_users = false, names_certificates = !subtrees_.empty();
  for (const auto& [principal, rule] : exact_) {
    const bool is_user = principal.starts_with("uid:") || principal.starts_with("gid:");
    (is_user ? names_users : names_certificates) = true;
  }
  if (names_users && offered.unix_peers) return {};
  if (names_certificates && offered.client_certificates) return {};
  std::string why = "nobody could ever be allowed anything:";
  if (names_certificates) {
    why += " its rules name certificates, which need --tls-cert, --tls-key and --tls-client-ca;";
  }
  if (names_users) why += " its rules name users, whom only a unix socket in --listen can prove;";
  return why + " a last rule for \"any\" would admit callers that prove nothing";
}

}  // namespace evenkeel::server
