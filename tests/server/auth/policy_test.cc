#include "server/auth/policy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "server/auth/roles.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

Policy SomePolicy() {
  return Policy({{{"spiffe://x/ns/ml/sa/boss", "uid:7"}, "ml", {"admin"}, {}},
                 {{"spiffe://x/ns/ml/*", "gid:50"}, "ml", {"planner.read"}, {"PlanJob"}},
                 {{"dns:a.example"}, "", {"planner.calibrate"}, {}},
                 {{"any"}, "open", {}, {"ListModels"}}});
}

struct Row {
  std::vector<std::string> identities;
  const char* method;
  Access access;
  const char* principal;
  const char* tenant;
};

TEST(PolicyTest, DecidesByTheFirstRuleThatNamesTheCaller) {
  const Policy policy = SomePolicy();
  const Row rows[] = {
      {{"spiffe://x/ns/ml/sa/boss"},
       "RecordProfile",
       Access::kAllowed,
       "spiffe://x/ns/ml/sa/boss",
       "ml"},
      {{"spiffe://x/ns/ml/sa/boss"},
       "FutureMethod",
       Access::kAllowed,
       "spiffe://x/ns/ml/sa/boss",
       "ml"},
      {{"spiffe://x/ns/ml/a/b/c"}, "PlanJob", Access::kAllowed, "spiffe://x/ns/ml/a/b/c", "ml"},
      {{"spiffe://x/ns/ml/a"}, "GetPlan", Access::kAllowed, "spiffe://x/ns/ml/a", "ml"},
      {{"spiffe://x/ns/ml/a"},
       "RecordProfile",
       Access::kMethodNotAllowed,
       "spiffe://x/ns/ml/a",
       ""},
      // "any" allows it, but only the earlier rule that names this caller decides.
      {{"dns:a.example"}, "ListModels", Access::kMethodNotAllowed, "dns:a.example", ""},
      {{"spiffe://x/ns/ml"}, "GetPlan", Access::kMethodNotAllowed, "spiffe://x/ns/ml", ""},
      {{"spiffe://x/ns/mlx/a"}, "GetPlan", Access::kMethodNotAllowed, "spiffe://x/ns/mlx/a", ""},
      {{"spiffe://y/ns/ml/a"}, "ListModels", Access::kAllowed, "spiffe://y/ns/ml/a", "open"},
      {{}, "ListModels", Access::kAllowed, "ip:10.0.0.7", "open"},
      {{}, "PlanJob", Access::kUnauthenticated, "ip:10.0.0.7", ""},
      {{"uid:8"}, "PlanJob", Access::kMethodNotAllowed, "uid:8", ""},
      // With several names, the first rule that names any of them decides, whatever their order.
      {{"spiffe://x/ns/other/a", "dns:a.example"},
       "RollBackProfile",
       Access::kAllowed,
       "dns:a.example",
       ""},
      {{"dns:a.example", "uid:7"}, "PlanJob", Access::kAllowed, "uid:7", "ml"},
      {{"uid:7", "dns:a.example"}, "PlanJob", Access::kAllowed, "uid:7", "ml"},
  };
  for (const Row& row : rows) {
    const Decision decision = policy.Decide({row.identities, "ip:10.0.0.7"}, row.method);
    const std::string about = std::string(row.principal) + " " + row.method;
    EXPECT_EQ(decision.access, row.access) << about;
    EXPECT_EQ(decision.caller.principal, row.principal) << about;
    EXPECT_EQ(decision.caller.tenant, row.tenant) << about;
  }
}

TEST(PolicyTest, WithoutAPolicyEverybodyMayDoEverything) {
  EXPECT_EQ(AllowWithoutPolicy({{}, "unix"}).caller.principal, "unix");
  EXPECT_EQ(AllowWithoutPolicy({{"uid:5", "gid:5"}, ""}).caller.principal, "uid:5");
  EXPECT_EQ(AllowWithoutPolicy({{}, "unix"}).access, Access::kAllowed);
}

TEST(PolicyTest, AUserOfAUnixSocketHasOnePrincipal) {
  const Policy open = SomePolicy();
  EXPECT_EQ(open.PrincipalOfUnixPeer(7, 50), "uid:7");
  EXPECT_EQ(open.PrincipalOfUnixPeer(8, 50), "gid:50");
  EXPECT_EQ(open.PrincipalOfUnixPeer(8, 8), "unix");
  const Policy closed({{{"gid:50"}, "", {"admin"}, {}}, {{"uid:7"}, "", {"planner.read"}, {}}});
  EXPECT_EQ(closed.PrincipalOfUnixPeer(7, 50), "gid:50");  // its rule comes first
  EXPECT_EQ(closed.PrincipalOfUnixPeer(7, 7), "uid:7");
  EXPECT_EQ(closed.PrincipalOfUnixPeer(8, 8), std::nullopt);
}

TEST(PolicyTest, SaysWhenNobodyCanProveAnything) {
  const ProofsOffered none, tls{true, false}, socket{false, true};
  const Policy users({{{"uid:7"}, "", {"admin"}, {}}});
  const Policy certificates(
      {{{"spiffe://x/*"}, "", {"admin"}, {}}, {{"dns:a"}, "", {"admin"}, {}}});
  EXPECT_THAT(users.CheckProvable(none), HasSubstr("only a unix socket in --listen"));
  EXPECT_THAT(users.CheckProvable(tls), HasSubstr("only a unix socket in --listen"));
  EXPECT_EQ(users.CheckProvable(socket), "");
  EXPECT_THAT(certificates.CheckProvable(none), HasSubstr("--tls-client-ca"));
  EXPECT_THAT(certificates.CheckProvable(socket), HasSubstr("--tls-client-ca"));
  EXPECT_EQ(certificates.CheckProvable(tls), "");
  EXPECT_EQ(SomePolicy().CheckProvable(none), "");  // "any"
}

// Decides a second time, independently, without the index and the server's table of roles.
struct Twin {
  std::vector<PolicyRule> rules;

  static bool Names(const std::string& pattern, const std::string& identity) {
    if (pattern == "any") return true;
    if (pattern.size() < 2 || pattern.substr(pattern.size() - 2) != "/*")
      return pattern == identity;
    const std::string above = pattern.substr(0, pattern.size() - 1);
    return identity.size() > above.size() && identity.compare(0, above.size(), above) == 0;
  }

  static bool Grants(const PolicyRule& rule, const std::string& method) {
    const std::vector<std::pair<std::string, std::string>> roles = {
        {"planner.read", " GetPlan ListPlans ListModels ListGpuTypes ListTrainers ListProfiles "},
        {"planner.plan", " PlanJob PlanCurve EvaluatePlan PackDataset "},
        {"planner.calibrate", " RecordProfile RollBackProfile "}};
    for (const std::string& own : rule.methods) {
      if (own == method) return true;
    }
    for (const std::string& role : rule.roles) {
      if (role == "admin") return true;
      for (const auto& [name, methods] : roles) {
        if (role == name && methods.find(" " + method + " ") != std::string::npos) return true;
      }
    }
    return false;
  }

  Decision Decide(const PeerIdentity& peer, const std::string& method) const {
    for (const PolicyRule& rule : rules) {
      std::string named;
      for (const std::string& pattern : rule.principals) {
        if (Names(pattern, "")) named = peer.identities.empty() ? peer.address : peer.identities[0];
      }
      for (size_t i = peer.identities.size(); i-- > 0;) {
        for (const std::string& pattern : rule.principals) {
          // A rule that names the caller beats one that matches only by "any".
          if (pattern != "any" && Names(pattern, peer.identities[i])) named = peer.identities[i];
        }
      }
      if (named.empty()) continue;
      if (Grants(rule, method)) return {Access::kAllowed, {named, rule.tenant}};
      break;
    }
    return {peer.identities.empty() ? Access::kUnauthenticated : Access::kMethodNotAllowed, {}};
  }
};

class RandomPolicies {
 public:
  explicit RandomPolicies(uint32_t seed) : random_(seed) {}

  size_t Below(size_t bound) { return random_() % bound; }

  std::vector<std::string> Some(std::vector<std::string> from, size_t most) {
    std::shuffle(from.begin(), from.end(), random_);
    from.resize(std::min(from.size(), Below(most + 1)));
    return from;
  }

  // Draws rules with each principal in at most one rule, as Policy requires.
  std::vector<PolicyRule> Rules() {
    std::vector<PolicyRule> rules(1 + Below(5));
    for (const std::string& principal : Some(kPatterns, kPatterns.size())) {
      rules[Below(rules.size())].principals.push_back(principal);
    }
    for (PolicyRule& rule : rules) {
      rule.tenant = Some({"a", "b", "c"}, 1).empty() ? "" : std::string(1, "abc"[Below(3)]);
      rule.roles = Some({"planner.read", "planner.plan", "planner.calibrate", "admin"}, 2);
      rule.methods = Some(Methods(), 2);
    }
    return rules;
  }

  PeerIdentity APeer() { return {Some(kIdentities, 3), Below(2) == 0 ? "ip:1.2.3.4" : "unix"}; }

  static std::vector<std::string> Methods() {
    std::vector<std::string> methods;
    for (const RoleOfMethod& known : RolesOfMethods()) methods.emplace_back(known.method);
    return methods;
  }

 private:
  const std::vector<std::string> kPatterns = {"spiffe://x/*", "spiffe://x/a/*", "spiffe://x/a/b/*",
                                              "spiffe://x/a", "spiffe://x/a/b", "spiffe://y/a",
                                              "dns:h",        "uid:1",          "gid:1",
                                              "any"};
  const std::vector<std::string> kIdentities = {
      "spiffe://x/a",  "spiffe://x/a/b", "spiffe://x/a/b/c",
      "spiffe://x/ab", "spiffe://y/a",   "spiffe://y/a/b",
      "dns:h",         "uid:1",          "uid:2",
      "gid:1"};
  std::mt19937 random_;
};

TEST(PolicyTest, AgreesWithASecondImplementation) {
  RandomPolicies random(1);
  const std::vector<std::string> methods = RandomPolicies::Methods();
  int allowed = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<PolicyRule> rules = random.Rules();
    const Policy policy(rules);
    const Twin twin{rules};
    for (int k = 0; k < 20; ++k) {
      const PeerIdentity peer = random.APeer();
      const std::string& method = methods[random.Below(methods.size())];
      const Decision expected = twin.Decide(peer, method), found = policy.Decide(peer, method);
      ASSERT_EQ(found.access, expected.access) << testing::PrintToString(peer.identities) << method;
      ASSERT_EQ(found.caller.tenant, expected.caller.tenant);
      if (expected.access == Access::kAllowed && expected.caller.principal != "") {
        ASSERT_EQ(found.caller.principal, expected.caller.principal);
      }
      ++(found.access == Access::kAllowed ? allowed : refused);
    }
  }
  EXPECT_GT(allowed, 5000);
  EXPECT_GT(refused, 5000);
}

// The listener asks once for a principal. Later calls must be decided as if both were proven.
TEST(PolicyTest, TheOnePrincipalOfAUserDecidesLikeUserAndGroup) {
  RandomPolicies random(2);
  int named = 0;
  for (int i = 0; i < 3000; ++i) {
    const Policy policy(random.Rules());
    for (const uint32_t uid : {1U, 2U}) {
      for (const uint32_t gid : {1U, 2U}) {
        const auto principal = policy.PrincipalOfUnixPeer(uid, gid);
        const PeerIdentity both{{"uid:" + std::to_string(uid), "gid:" + std::to_string(gid)},
                                "unix"};
        for (const std::string& method : RandomPolicies::Methods()) {
          const Decision expected = policy.Decide(both, method);
          if (!principal) {
            ASSERT_NE(expected.access, Access::kAllowed);
            continue;
          }
          ++named;
          const PeerIdentity one =
              *principal == "unix" ? PeerIdentity{{}, "unix"} : PeerIdentity{{*principal}, "unix"};
          const Decision found = policy.Decide(one, method);
          ASSERT_EQ(found.access == Access::kAllowed, expected.access == Access::kAllowed);
          ASSERT_EQ(found.caller.tenant, expected.caller.tenant);
        }
      }
    }
  }
  EXPECT_GT(named, 1000);
}

}  // namespace
}  // namespace evenkeel::server
