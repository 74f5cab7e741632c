// Names of callers: what a certificate or the kernel proves, and how a rule of the policy says it.
#ifndef EVENKEEL_SERVER_AUTH_PRINCIPAL_H_
#define EVENKEEL_SERVER_AUTH_PRINCIPAL_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// A rule's name for every caller, also those that prove nothing.
inline constexpr std::string_view kAnyone = "any";

// Whether `text` names one proven caller: "spiffe://example.org/ns/ml/sa/train" (SPIFFE's own
// grammar, with a path), "dns:scheduler.example.org" in lower case, "uid:1000" or "gid:1000". What
// is not of this form is nobody, whoever vouches for it.
bool IsIdentity(std::string_view text);

// What is wrong with `text` as a principal of a rule: an identity, a SPIFFE id whose path ends in
// "/*" (all ids below it), or "any". Empty: nothing.
std::string CheckPrincipal(std::string_view text);

// "spiffe://example.org/ns/" of "spiffe://example.org/ns/*"; empty for every other principal.
std::string_view SubtreeOf(std::string_view principal);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_PRINCIPAL_H_
