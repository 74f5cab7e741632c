#include "server/auth/policy_json.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>

#include "server/auth/roles.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

std::string Error(const std::string& text) {
  const auto policy = ParsePolicy(text);
  EXPECT_EQ(policy.ok(), policy.status().message().empty()) << text;
  return std::string(policy.status().message());
}

std::string WithRule(const std::string& rule) {
  return R"({"version": 1, "rules": [)" + rule + "]}";
}

TEST(PolicyJsonTest, TheExampleIsAPolicy) {
  std::ifstream file(EVENKEEL_SOURCE_DIR "/deploy/auth/policy.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto parsed = ParsePolicy(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto& policy = *parsed;
  EXPECT_THAT(policy->tenants(), testing::ElementsAre("", "vision"));
  const auto of = [&](const char* identity, const char* method) {
    return policy->Decide({{identity}, ""}, method);
  };
  EXPECT_EQ(of("spiffe://example.org/ns/vision/sa/benchmark", "RecordProfile").caller.tenant,
            "vision");
  EXPECT_EQ(of("spiffe://example.org/ns/vision/sa/train", "RecordProfile").access,
            Access::kMethodNotAllowed);
  EXPECT_EQ(of("spiffe://example.org/ns/vision/sa/train", "PlanJob").access, Access::kAllowed);
  EXPECT_EQ(of("uid:1000", "PackDataset").access, Access::kAllowed);
  EXPECT_EQ(of("uid:1000", "RollBackProfile").access, Access::kMethodNotAllowed);
  EXPECT_EQ(of("gid:65532", "RollBackProfile").access, Access::kAllowed);
  EXPECT_EQ(policy->Decide({{}, "ip:10.0.0.7"}, "ListModels").access, Access::kAllowed);
  EXPECT_EQ(policy->Decide({{}, "ip:10.0.0.7"}, "PlanJob").access, Access::kUnauthenticated);
}

// Reads the text between ```json and ``` in docs/SECURITY.md.
TEST(PolicyJsonTest, TheDocumentShowsAPolicyAndNamesEveryRole) {
  std::ifstream file(EVENKEEL_SOURCE_DIR "/docs/SECURITY.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = text.find("```json\n");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(Error(text.substr(begin + 8, text.find("```", begin + 8) - begin - 8)), "");
  for (const RoleOfMethod& known : RolesOfMethods()) {
    const std::string row = "| `" + std::string(known.role) + "` |";
    const size_t at = text.find(row);
    ASSERT_NE(at, std::string::npos) << row;
    EXPECT_THAT(text.substr(at, text.find('\n', at) - at),
                HasSubstr("`" + std::string(known.method) + "`"));
  }
}

TEST(PolicyJsonTest, EveryFaultIsNamedByPathAndWithWhatWouldDo) {
  const std::string good = R"("roles": ["planner.read"])";
  const std::pair<std::string, const char*> all[] = {
      {"", "is not JSON: parse error at line 1, column 1"},
      {"{\"version\": 1,\n \"rules\": [}", "line 2, column 12"},
      {"{} {}", "is not JSON"},
      {"// comment\n{}", "is not JSON"},
      {"\"\xff\"", "is not JSON"},
      {"{\"version\":\xb1", "last read: '\"version\":?'"},
      {"[]", "must be an object {\"version\": 1, \"rules\": [...]}"},
      {"{}", "version: must be 1"},
      {R"({"version": 2, "rules": []})", "version: must be 1"},
      {R"({"version": "1", "rules": []})", "version: must be 1"},
      {R"({"version": 1})", "rules: must be a list of 1 to 1000"},
      {R"({"version": 1, "rules": []})", "rules: must be a list of 1 to 1000"},
      {R"({"version": 1, "rules": {}})", "rules: must be a list of 1 to 1000"},
      {R"({"version": 1, "version": 1, "rules": []})", "\"version\": stands twice"},
      {R"({"version": 1, "rule": [], "rules": [1]})",
       "\"rule\": is not a key of this format; there are rules, version"},
      {WithRule("1"), "rules[0]: must be an object"},
      {WithRule(R"({"principals": ["any"]})"), "rules[0]: needs roles or methods"},
      {WithRule("{" + good + "}"), "rules[0].principals: is missing"},
      {WithRule(R"({"principals": [], )" + good + "}"),
       "rules[0].principals: must be a list of 1 to 1000"},
      {WithRule(R"({"principals": "any", )" + good + "}"),
       "rules[0].principals: must be a list of 1 to 1000"},
      {WithRule(R"({"principals": ["any", 7], )" + good + "}"), "rules[0].principals[1]: must be"},
      {WithRule(R"({"principals": ["uid:01"], )" + good + "}"),
       "rules[0].principals[0]: \"uid:01\" must be a number from 0 to 4294967295 after \"uid:\""},
      {WithRule(R"({"principals": ["dns:*.x"], )" + good + "}"), "and without '*'"},
      {WithRule(R"({"principals": ["spiffe://x"], )" + good + "}"),
       "must be a SPIFFE id with a path"},
      {WithRule(R"({"principals": ["root"], )" + good + "}"),
       R"(must be "spiffe://DOMAIN/PATH", "dns:NAME", "uid:N", "gid:N" or "any")"},
      {WithRule(R"({"principals": ["uid:1", "uid:1"], )" + good + "}"),
       "rules[0].principals[1]: \"uid:1\" stands twice in this list"},
      {WithRule(R"({"principals": ["any"], "roles": []})"), "rules[0].roles: must be a list"},
      {WithRule(R"({"principals": ["any"], "roles": ["root"]})"),
       "rules[0].roles[0]: \"root\" must be planner.read, planner.plan, planner.calibrate or "
       "admin"},
      {WithRule(R"({"principals": ["any"], "methods": ["Get"]})"),
       "rules[0].methods[0]: \"Get\" must be a method: GetPlan, "},
      {WithRule(R"({"principals": ["any"], "tenant": "A", )" + good + "}"),
       "rules[0].tenant: must be 1 to 63 of a-z"},
      {WithRule(R"({"principals": ["any"], "tenant": "a-", )" + good + "}"), "rules[0].tenant"},
      {WithRule(R"({"principals": ["any"], "tenant": "a/b", )" + good + "}"), "rules[0].tenant"},
      {WithRule(R"({"principals": ["any"], "tenant": null, )" + good + "}"), "rules[0].tenant"},
      {WithRule(R"({"principals": ["any"], "tenant": ")" + std::string(64, 'a') + "\", " + good +
                "}"),
       "rules[0].tenant"},
      {WithRule(R"({"principals": ["any"], "description": 1, )" + good + "}"),
       "rules[0].description: must be a text of at most 1000 bytes"},
      {WithRule(R"({"principals": ["any"], "role": [], )" + good + "}"),
       "rules[0].\"role\": is not a key of this format; there are description, methods, "
       "principals, "
       "roles, tenant"},
      {WithRule(R"({"principals": ["any"], "roles": ["admin"], "roles": ["admin"]})"),
       "\"rules[0].roles\": stands twice in one object"},
      {std::string(100'000, '['), "nests lists or objects too deeply"},
      {std::string(kMaxPolicyBytes + 1, ' '), "is larger than 1048576 bytes"},
  };
  for (const auto& [text, fault] : all) {
    EXPECT_THAT(Error(text), HasSubstr(fault)) << text.substr(0, 200);
  }
}

TEST(PolicyJsonTest, ARuleThatIsNeverReachedIsAFault) {
  const auto rules = [](const std::string& first, const std::string& second) {
    const std::string tail = R"(], "roles": ["planner.read"]})";
    return WithRule(R"({"principals": [)" + first + tail + R"(,{"principals": [)" + second + tail);
  };
  const char* const never = "rules[1].principals[0]: ";
  EXPECT_THAT(Error(rules(R"("uid:1")", R"("uid:1")")), HasSubstr(never));
  EXPECT_THAT(
      Error(rules(R"("any")", R"("uid:1")")),
      HasSubstr("rules[1].principals[0]: \"uid:1\" is never reached: rules[0] has \"any\""));
  EXPECT_THAT(Error(rules(R"("spiffe://x/a/*")", R"("spiffe://x/a/b/c")")), HasSubstr(never));
  EXPECT_THAT(Error(rules(R"("spiffe://x/*")", R"("spiffe://x/a/*")")), HasSubstr(never));
  EXPECT_EQ(Error(rules(R"("spiffe://x/a/*")", R"("spiffe://x/a")")), "");
  EXPECT_EQ(Error(rules(R"("spiffe://x/a/*")", R"("spiffe://x/ab")")), "");
  EXPECT_EQ(Error(rules(R"("spiffe://x/a/b")", R"("spiffe://x/*", "any")")), "");
  EXPECT_EQ(Error(rules(R"("uid:1", "gid:1")", R"("any")")), "");
}

TEST(PolicyJsonTest, AllFaultsAreToldUpToABound) {
  std::string rules;
  for (int i = 0; i < 30; ++i) rules += std::string(i == 0 ? "" : ",") + "7";
  const std::string error = Error(WithRule(rules));
  EXPECT_THAT(error, HasSubstr("rules[19]: "));
  EXPECT_THAT(error, HasSubstr("; and 10 more"));
}

}  // namespace
}  // namespace evenkeel::server
