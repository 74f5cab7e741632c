// Names of callers: what a certificate or the kernel proves, and how a policy rule writes it.
#ifndef EVENKEEL_SERVER_AUTH_PRINCIPAL_H_
#define EVENKEEL_SERVER_AUTH_PRINCIPAL_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// The principal of a rule that names every caller, even those that prove nothing.
inline constexpr std::string_view kAnyone = "any";

// Returns true if `text` names one proven caller: "spiffe://example.org/ns/ml/sa/train" (the
// grammar of SPIFFE, with a path), "dns:scheduler.example.org" in lower case, "uid:1000" or
// "gid:1000". A text of any other form names nobody, even if a certificate vouches for it.
bool IsIdentity(std::string_view text);

// Returns the fault of `text` as a principal of a rule, or "" if there is none. A principal is an
// identity, a SPIFFE id whose path ends in "/*" (all ids below it), or "any".
std::string CheckPrincipal(std::string_view text);

// Returns "spiffe://example.org/ns/" for "spiffe://example.org/ns/*", and "" for every other
// principal.
std::string_view SubtreeOf(std::string_view principal);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_PRINCIPAL_H_
