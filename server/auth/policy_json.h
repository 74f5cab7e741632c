// Reads the policy file: JSON, described in docs/SECURITY.md. It is strict, because a rule that is
// silently ignored is a door that its owner believes to be shut.
#ifndef EVENKEEL_SERVER_AUTH_POLICY_JSON_H_
#define EVENKEEL_SERVER_AUTH_POLICY_JSON_H_

#include <absl/status/statusor.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "server/auth/policy.h"

namespace evenkeel::server {

inline constexpr size_t kMaxPolicyBytes = size_t{1} << 20;
inline constexpr size_t kMaxPolicyRules = 1000;
inline constexpr size_t kMaxPrincipalsOfRule = 1000;

// If the text is not accepted, the message has all faults, separated by "; ", each with its path
// and what would be accepted: "rules[2].principals[0]: must be ...". Never returns a null policy.
absl::StatusOr<std::shared_ptr<const Policy>> ParsePolicy(std::string_view text);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_POLICY_JSON_H_
