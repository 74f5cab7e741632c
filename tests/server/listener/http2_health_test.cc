#include "server/listener/http2_health.h"

#include <gtest/gtest.h>

#include <string>

namespace evenkeel::server {
namespace {

std::string Frame(char type, char flags, char stream, const std::string& payload) {
  return std::string({0, 0, static_cast<char>(payload.size()), type, flags, 0, 0, 0, stream}) +
         payload;
}

const std::string kSettings = Frame(4, 0, 0, "");
const std::string kHeaders = Frame(1, 4, 1, "h");
const std::string kAnswer = Frame(0, 0, 1, std::string("\0\0\0\0\2\x08\1", 7));

TEST(Http2HealthTest, SendsPrefaceSettingsHeadersAndData) {
  const std::string bytes = HealthCheckBytes();
  EXPECT_TRUE(bytes.starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  EXPECT_NE(bytes.find("/grpc.health.v1.Health/Check"), std::string::npos);
  EXPECT_TRUE(bytes.ends_with(std::string("\0\0\5\0\1\0\0\0\1\0\0\0\0\0", 14)));
}

TEST(Http2HealthTest, AMessageOnTheCallIsAnAnswer) {
  const std::string all = kSettings + kHeaders + kAnswer;
  EXPECT_EQ(ReadHealthAnswer(all), HealthAnswer::kAnswered);
  for (size_t length = 0; length < (kSettings + kHeaders).size() + 9; ++length) {
    EXPECT_EQ(ReadHealthAnswer(all.substr(0, length)), HealthAnswer::kIncomplete) << length;
  }
}

TEST(Http2HealthTest, AnErrorIsNone) {
  EXPECT_EQ(ReadHealthAnswer(kSettings + Frame(7, 0, 0, "00000000")), HealthAnswer::kRefused);
  EXPECT_EQ(ReadHealthAnswer(kSettings + Frame(3, 0, 1, "0000")), HealthAnswer::kRefused);
  EXPECT_EQ(ReadHealthAnswer(kSettings + Frame(1, 5, 1, "h")), HealthAnswer::kRefused);
  EXPECT_EQ(ReadHealthAnswer(kSettings + Frame(0, 0, 3, "m")), HealthAnswer::kIncomplete);
}

}  // namespace
}  // namespace evenkeel::server
