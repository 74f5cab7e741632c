#include "server/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "server/listen.h"

namespace evenkeel::server {
namespace {

ParsedOptions Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "evenkeel-server");
  return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
}

TEST(OptionsTest, Defaults) {
  const ParsedOptions parsed = Parse({});
  ASSERT_TRUE(parsed.run) << parsed.text;
  EXPECT_EQ(parsed.options.listen, std::vector<std::string>{"127.0.0.1:50051"});
  EXPECT_EQ(parsed.options.metrics_address, "127.0.0.1:9464");
  EXPECT_EQ(parsed.options.cache_bytes, 64 << 20);
  EXPECT_EQ(parsed.options.max_request_bytes, 1 << 20);
  EXPECT_EQ(parsed.options.drain_timeout_seconds, 20);
  EXPECT_TRUE(parsed.options.reflection);
}

TEST(OptionsTest, FlagsBeatTheEnvironment) {
  setenv("EVENKEEL_QUEUE_LENGTH", "5", 1);
  setenv("EVENKEEL_WORKERS", "3", 1);
  const ParsedOptions parsed = Parse({"--queue-length=9"});
  unsetenv("EVENKEEL_QUEUE_LENGTH");
  unsetenv("EVENKEEL_WORKERS");
  EXPECT_EQ(parsed.options.queue_length, 9);
  EXPECT_EQ(parsed.options.workers, 3);
}

TEST(OptionsTest, TakesSeveralAddresses) {
  EXPECT_EQ(Parse({"--listen=127.0.0.1:1,unix:/a", "--listen", "[::1]:2"}).options.listen,
            (std::vector<std::string>{"127.0.0.1:1", "unix:/a", "[::1]:2"}));
}

TEST(OptionsTest, ReportsEveryProblemAtOnce) {
  const ParsedOptions parsed = Parse({"--workers=-1", "--queue-length=x", "--listen=nowhere",
                                      "--reflection=maybe", "--drain-timeout=nan", "--bogus=1"});
  EXPECT_FALSE(parsed.run);
  EXPECT_EQ(parsed.exit_code, 2);
  for (const char* part : {"--workers", "--queue-length", "--listen", "--reflection",
                           "--drain-timeout", "--bogus", "EVENKEEL_WORKERS"}) {
    EXPECT_NE(parsed.text.find(part), std::string::npos) << part << "\n" << parsed.text;
  }
}

TEST(OptionsTest, AMisspeltFlagIsNamedWithItsLikeAndWithoutItsValue) {
  EXPECT_EQ(Parse({"--worker", "3", "--queue_length=5", "stray"}).text,
            "unknown argument --worker; nearest: --workers\n"
            "unknown argument --queue_length=5; nearest: --queue-length\n"
            "unknown argument stray\n"
            "See --help.\n");
}

TEST(OptionsTest, AWrongEnvironmentVariableIsReported) {
  setenv("EVENKEEL_LOG_LEVEL", "loud", 1);
  const ParsedOptions parsed = Parse({});
  unsetenv("EVENKEEL_LOG_LEVEL");
  EXPECT_EQ(parsed.exit_code, 2);
  EXPECT_NE(parsed.text.find("EVENKEEL_LOG_LEVEL"), std::string::npos);
}

TEST(OptionsTest, AFlagWithoutItsValueIsWrong) { EXPECT_EQ(Parse({"--workers"}).exit_code, 2); }

TEST(OptionsTest, HelpExplainsEverySetting) {
  const ParsedOptions parsed = Parse({"--help"});
  EXPECT_FALSE(parsed.run);
  EXPECT_EQ(parsed.exit_code, 0);
  for (const Setting& setting : Settings()) {
    for (const std::string& part : {std::string("--") + setting.name, EnvironmentName(setting),
                                    std::string(setting.default_text), std::string(setting.help)}) {
      EXPECT_NE(parsed.text.find(part), std::string::npos) << part;
    }
  }
  EXPECT_EQ(Parse({"--version"}).exit_code, 0);
}

TEST(OptionsTest, PlaintextBeyondThisMachineMustBeAskedFor) {
  for (const char* own : {"127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1", "unix:/a"}) {
    EXPECT_TRUE(Parse({"--listen", own}).run) << own;
  }
  for (const char* open : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "planner:1", "127.example:1"}) {
    const ParsedOptions refused = Parse({"--listen", open});
    EXPECT_EQ(refused.exit_code, 2) << open;
    EXPECT_NE(refused.text.find("--allow-plaintext"), std::string::npos) << refused.text;
    EXPECT_TRUE(Parse({"--listen", open, "--allow-plaintext=true"}).run) << open;
    EXPECT_TRUE(Parse({"--listen", open, "--tls-cert=/c", "--tls-key=/k"}).run) << open;
  }
}

TEST(OptionsTest, TlsSettingsBelongTogether) {
  for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{
           {"--tls-cert=/c"},
           {"--tls-key=/k"},
           {"--tls-client-ca=/a"},
           {"--tls-cert=/c", "--tls-key=/k", "--tls-crl-dir=/l"}}) {
    EXPECT_EQ(Parse(wrong).exit_code, 2);
  }
  EXPECT_TRUE(
      Parse({"--tls-cert=/c", "--tls-key=/k", "--tls-client-ca=/a", "--tls-crl-dir=/l"}).run);
}

TEST(ListenTest, ChecksAddresses) {
  for (const char* good : {"localhost:1", "0.0.0.0:50051", "[::]:0", "unix:/run/x.sock"}) {
    EXPECT_EQ(CheckListenAddress(good), "") << good;
  }
  for (const char* bad : {"", ":1", "host", "host:", "host:70000", "host:-1", "::1:5", "unix:x",
                          "unix:", "host:1x"}) {
    EXPECT_NE(CheckListenAddress(bad), "") << bad;
  }
  EXPECT_NE(CheckListenAddress("unix:/" + std::string(200, 'a')), "");
}

}  // namespace
}  // namespace evenkeel::server
