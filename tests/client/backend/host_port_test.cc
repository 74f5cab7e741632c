#include "client/cli/backend/host_port.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "client/cli/base/command_error.h"
#include "client/cli/commands/global_options.h"

namespace evenkeel::cli {
namespace {

TEST(HostPortTest, ReadsHostAndPort) {
  for (const auto& [text, host, port] :
       {std::tuple("planner:50051", "planner", 50051), std::tuple("127.0.0.1:1", "127.0.0.1", 1),
        std::tuple("[::1]:65535", "::1", 65535)}) {
    const auto parsed = ParseHostPort(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, port);
  }
}

TEST(HostPortTest, RefusesAnythingElse) {
  for (const char* text : {"", "planner", "planner:", ":50051", "planner:x", "planner:0",
                           "planner:65536", "::1", "[::1]", "::1:50051", "[]:50051", "planner:1 "})
    EXPECT_FALSE(ParseHostPort(text)) << text;
}

// EVENKEEL_SERVER may hold what only another command could use.
TEST(HostPortTest, AServerThatIsNotAskedNeedsNoAddress) {
  GlobalOptions options;
  options.server = "planner";
  options.local = true;
  EXPECT_NE(BackendOf(options), nullptr);
  options.local = false;
  EXPECT_THROW(BackendOf(options), CommandError);
  for (const char* address : {"planner:50051", "dns:///planner:50051", "unix:/run/planner.sock"}) {
    options.server = address;
    EXPECT_EQ(ServerAddress(options), address);
  }
  for (const char* address : {"dns:///planner", "dns:planner", "dns://8.8.8.8/planner", "dns://"}) {
    options.server = address;
    EXPECT_THROW(ServerAddress(options), CommandError) << address;
  }
}

}  // namespace
}  // namespace evenkeel::cli
