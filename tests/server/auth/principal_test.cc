#include "server/auth/principal.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace evenkeel::server {
namespace {

TEST(PrincipalTest, KnowsIdentities) {
  for (const std::string& good : std::vector<std::string>{
           "spiffe://example.org/a", "spiffe://a.b-c_d/Ns/x.y/-/...", "dns:a",
           "dns:a-1.example.org", "uid:0", "uid:4294967295", "gid:65532",
           "spiffe://x/" + std::string(2048 - 11, 'p'), "spiffe://" + std::string(255, 'd') + "/p",
           "dns:" + std::string(63, 'l')}) {
    EXPECT_TRUE(IsIdentity(good)) << good;
    EXPECT_EQ(CheckPrincipal(good), "") << good;
  }
}

TEST(PrincipalTest, RefusesWhatIsNone) {
  for (const std::string& bad :
       std::vector<std::string>{"",
                                "a",
                                "spiffe:",
                                "spiffe://",
                                "spiffe:///a",
                                "spiffe://example.org",
                                "spiffe://example.org/",
                                "spiffe://example.org/a/",
                                "spiffe://example.org//a",
                                "spiffe://example.org/./a",
                                "spiffe://example.org/a/..",
                                "spiffe://Example.org/a",
                                "spiffe://u@example.org/a",
                                "spiffe://example.org:80/a",
                                "spiffe://example.org/a?b",
                                "spiffe://example.org/a%41",
                                "spiffe://example.org/a b",
                                "SPIFFE://example.org/a",
                                "spiffe://x/" + std::string(2048 - 10, 'p'),
                                "spiffe://" + std::string(256, 'd') + "/p",
                                "spiffe://example.org/a*",
                                "spiffe://*/a",
                                "spiffe://example.org/*/a",
                                "dns:",
                                "dns:A.b",
                                "dns:*.example.org",
                                "dns:a..b",
                                "dns:.a",
                                "dns:a.",
                                "dns:-a",
                                "dns:a-",
                                "dns:a_b",
                                "dns:" + std::string(64, 'l'),
                                "uid:",
                                "uid:-1",
                                "uid:+1",
                                "uid:01",
                                "uid:4294967296",
                                "uid:1 ",
                                "uid:*",
                                "gid:x",
                                "ANY",
                                "any ",
                                "ip:10.0.0.7",
                                "unix",
                                std::string("uid:1\0", 6),
                                "dns:" + std::string(254, 'a')}) {
    EXPECT_FALSE(IsIdentity(bad)) << bad;
    EXPECT_NE(CheckPrincipal(bad), "") << bad;
  }
}

TEST(PrincipalTest, ARuleMayNameASubtreeOrEverybody) {
  EXPECT_EQ(CheckPrincipal("any"), "");
  EXPECT_EQ(CheckPrincipal("spiffe://example.org/*"), "");
  EXPECT_EQ(CheckPrincipal("spiffe://example.org/ns/ml/*"), "");
  EXPECT_EQ(SubtreeOf("spiffe://example.org/ns/*"), "spiffe://example.org/ns/");
  EXPECT_EQ(SubtreeOf("spiffe://example.org/ns"), "");
  EXPECT_EQ(SubtreeOf("dns:x/*"), "");
  // These stand for callers, but no caller has such a name.
  EXPECT_FALSE(IsIdentity("any"));
  EXPECT_FALSE(IsIdentity("spiffe://example.org/*"));
}

}  // namespace
}  // namespace evenkeel::server
