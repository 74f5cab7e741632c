// The policy file: JSON, described in docs/SECURITY.md. Strict, because what is ignored here is a
// door that its owner believes shut.
#ifndef EVENKEEL_SERVER_AUTH_POLICY_JSON_H_
#define EVENKEEL_SERVER_AUTH_POLICY_JSON_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/auth/policy.h"

namespace evenkeel::server {

inline constexpr size_t kMaxPolicyBytes = size_t{1} << 20;
inline constexpr size_t kMaxPolicyRules = 1000;
inline constexpr size_t kMaxPrincipalsOfRule = 1000;

// nullptr, with all that is wrong in *error, separated by "; ", each by path and with what would be
// accepted: "rules[2].principals[0]: must be ...".
std::shared_ptr<const Policy> ParsePolicy(std::string_view text, std::string* error);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_POLICY_JSON_H_
