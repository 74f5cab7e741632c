#include "server/admin/admin_server.h"

#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "server/admin/admin_address.h"
#include "server/log.h"
#include "server/options.h"

namespace evenkeel::server {
namespace {

StatusPage Page() {
  StatusPage page;
  page.title = "evenkeel-server 1.2.3";
  page.health = {"Health", "SERVING", "", StatusMark::kGood};
  return page;
}

class AdminServerTest : public testing::Test {
 protected:
  AdminServerTest() {
    char folder[] = "/tmp/evenkeel-admin-XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~AdminServerTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/admin.sock"; }

  std::unique_ptr<AdminServer> Open(const std::string& address) {
    return AdminServer::Open(address, &Page, &error_);
  }

  std::string folder_;
  std::string error_;
};

TEST_F(AdminServerTest, AUnixSocketIsItsOwnersAlone) {
  auto server = Open("unix:" + path());
  ASSERT_NE(server, nullptr) << error_;
  struct stat info {};
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  httplib::Client client(path(), 80);
  client.set_address_family(AF_UNIX);
  const auto html = client.Get("/statusz");
  ASSERT_TRUE(html);
  EXPECT_EQ(html->status, 200);
  EXPECT_EQ(html->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(html->get_header_value("Content-Security-Policy").find("default-src 'none'"),
            std::string::npos);
  EXPECT_NE(html->body.find("evenkeel-server 1.2.3"), std::string::npos);
  EXPECT_EQ(client.Get("/statusz?format=json")->body.front(), '{');
  EXPECT_EQ(client.Get("/statusz?format=xml")->status, 400);
  EXPECT_EQ(client.Get("/metrics")->status, 404);
  EXPECT_EQ(client.Get("/../../etc/passwd")->status, 404);
  EXPECT_EQ(client.Get("/")->get_header_value("Location"), "/statusz");
  EXPECT_EQ(Open("unix:" + path()), nullptr);  // somebody listens
  server.reset();
  EXPECT_NE(stat(path().c_str(), &info), 0);  // the socket was removed
}

TEST_F(AdminServerTest, ABrowserOfAnotherSiteIsRefused) {
  const auto server = Open("127.0.0.1:0");
  ASSERT_NE(server, nullptr) << error_;
  httplib::Client client("127.0.0.1", server->port());
  EXPECT_EQ(client.Get("/statusz")->status, 200);
  EXPECT_EQ(client.Get("/statusz", {{"Host", "localhost:1"}})->status, 200);
  EXPECT_EQ(client.Get("/statusz", {{"Host", "[::1]:1"}})->status, 200);
  EXPECT_EQ(client.Get("/statusz", {{"Host", "evil.example.org"}})->status, 403);
  EXPECT_EQ(client.Get("/statusz", {{"Host", "127.0.0.1.evil.example.org:80"}})->status, 403);
  EXPECT_EQ(client.Get("/statusz", {{"Sec-Fetch-Site", "cross-site"}})->status, 403);
  EXPECT_EQ(client.Get("/statusz", {{"Sec-Fetch-Site", "none"}})->status, 200);
  EXPECT_EQ(
      client.Post("/log-level", {{"Origin", "http://evil.example.org"}}, "debug", "text/plain")
          ->status,
      403);
}

TEST_F(AdminServerTest, TheLogLevelCanBeChanged) {
  StartLog(LogLevel::kError);
  {
    const auto server = Open("127.0.0.1:0");
    ASSERT_NE(server, nullptr) << error_;
    httplib::Client client("127.0.0.1", server->port());
    EXPECT_EQ(client.Get("/log-level")->body, "error\n");
    testing::internal::CaptureStderr();
    EXPECT_EQ(client.Post("/log-level", "debug", "text/plain")->body, "debug\n");
    EXPECT_TRUE(LogLine::Wanted(LogLevel::kDebug));
    const auto bad = client.Post("/log-level", "loud", "text/plain");
    EXPECT_EQ(bad->status, 400);
    EXPECT_NE(bad->body.find("debug, info"), std::string::npos);
    EXPECT_EQ(client.Post("/log-level", std::string(5000, 'x'), "text/plain")->status, 413);
    EXPECT_EQ(client.Post("/log-level", "off\n", "application/x-www-form-urlencoded")->body,
              "off\n");
    EXPECT_FALSE(LogLine::Wanted(LogLevel::kError));
  }
  StopLog();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find(R"("msg":"log level","from":"error","to":"debug"})"), std::string::npos)
      << log;
  EXPECT_NE(log.find(R"("msg":"log level","from":"debug","to":"off"})"), std::string::npos) << log;
}

TEST_F(AdminServerTest, AFaultSaysNothingOfItself) {
  const auto server = AdminServer::Open(
      "unix:" + path(), []() -> StatusPage { throw std::runtime_error("secret"); }, &error_);
  ASSERT_NE(server, nullptr) << error_;
  httplib::Client client(path(), 80);
  client.set_address_family(AF_UNIX);
  const auto answer = client.Get("/statusz");
  EXPECT_EQ(answer->status, 500);
  EXPECT_EQ(answer->body.find("secret"), std::string::npos);
  for (const auto& [name, value] : answer->headers)
    EXPECT_EQ(value.find("secret"), std::string::npos);
}

TEST_F(AdminServerTest, ATakenAddressIsReported) {
  const auto first = Open("127.0.0.1:0");
  ASSERT_NE(first, nullptr);
  const std::string address = "127.0.0.1:" + std::to_string(first->port());
  EXPECT_EQ(Open(address), nullptr);
  EXPECT_NE(error_.find(address), std::string::npos) << error_;
  EXPECT_EQ(Open("unix:" + folder_ + "/none/admin.sock"), nullptr);
}

TEST(AdminAddressTest, OnlyUnixSocketsAndLoopback) {
  for (const char* good : {"unix:/run/evenkeel/admin.sock", "127.0.0.1:9465", "127.3.2.1:0",
                           "[::1]:9465", "localhost:9465"}) {
    EXPECT_EQ(CheckAdminAddress(good), "") << good;
  }
  for (const char* bad : {"0.0.0.0:9465", "10.0.0.7:9465", "[::]:9465", "example.org:9465",
                          "127.0.0.1.example.org:1", "unix:relative", "127.0.0.1", "off", ""}) {
    EXPECT_NE(CheckAdminAddress(bad), "") << bad;
  }
  const char* argv[] = {"evenkeel-server", "--admin-address", "0.0.0.0:9465"};
  const ParsedOptions parsed = ParseOptions(3, argv);
  EXPECT_FALSE(parsed.run);
  EXPECT_NE(parsed.text.find("no authentication, or off"), std::string::npos) << parsed.text;
}

}  // namespace
}  // namespace evenkeel::server
