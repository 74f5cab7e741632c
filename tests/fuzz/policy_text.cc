// Target for the policy file.
#include <memory>
#include <string>

#include "server/auth/policy.h"
#include "server/auth/policy_json.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace evenkeel::fuzz {

void PolicyText(std::string_view input) {
  const Budget budget("reading a policy");
  const auto parsed = server::ParsePolicy(input);
  const std::string error(parsed.status().message());
  Require(parsed.ok() == error.empty(), "a policy is refused without a reason");
  if (!parsed.ok()) {
    RequireGood({{"", error}});
    return budget.RequireKept();
  }
  const std::shared_ptr<const server::Policy> policy = *parsed;
  // A peer that the policy admits belongs to one of its tenants.
  const server::PeerIdentity peers[] = {{{}, "ip:10.0.0.7"},
                                        {{"uid:1", "gid:1"}, "unix"},
                                        {{"spiffe://example.org/ns/a", "dns:a.example"}, "ip:::1"}};
  for (const server::PeerIdentity& peer : peers) {
    for (const char* method : {"PlanJob", "RecordProfile", "GetPlan", "no such method"}) {
      const server::Decision decision = policy->Decide(peer, method);
      const bool allowed = decision.access == server::Access::kAllowed;
      Require(allowed ? policy->tenants().contains(decision.caller.tenant)
                      : decision.caller.tenant.empty(),
              "a tenant that no rule names");
    }
  }
  policy->CheckProvable({});
  budget.RequireKept();
}

}  // namespace evenkeel::fuzz
