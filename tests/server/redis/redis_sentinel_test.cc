#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "server/redis/redis_client.h"
#include "server/redis/redis_profile_store.h"
#include "tests/server/redis/redis_process.h"
#include "tests/server/redis/test_authority.h"

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Returns a port that nobody listens on.
int UnusedPort() { return FakeServer(Says("")).address().port; }

// Answers as a Sentinel that names this port.
FakeServer::Serve Names(int port) {
  const std::string text = std::to_string(port);
  return Says("*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
}

// A Sentinel that watches a primary called "plans".
class Sentinel {
 public:
  Sentinel(int primary, const std::string& settings = "", const std::string& kind = "port") {
    std::string folder = "/tmp/evenkeel-sentinel-XXXXXX";
    folder_ = mkdtemp(folder.data());
    const std::string file = folder_ + "/sentinel.conf";
    std::ofstream(file) << (kind == "port" ? "" : "port 0\n") << kind << " " << port_
                        << "\nbind 127.0.0.1\ndir " << folder_ << "\nlogfile " << folder_
                        << "/log\nsentinel monitor plans 127.0.0.1 " << primary
                        << " 1\nsentinel down-after-milliseconds plans 200\n"
                        << "sentinel failover-timeout plans 2000\n"
                        << settings;
    process_ = fork();
    if (process_ == 0) {
      execl(RedisProcess::Program().c_str(), "redis-sentinel", file.c_str(), nullptr);
      _exit(127);
    }
  }
  ~Sentinel() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }

  RedisEndpoint endpoint() const { return {"127.0.0.1", port_}; }

 private:
  const int port_ = UnusedPort();
  std::string folder_;
  pid_t process_ = -1;
};

class RedisSentinelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisProcess::Exists()) GTEST_SKIP() << "there is no redis-server to test with";
  }

  static std::vector<std::string> OnPort(int port) {
    return {"--port",    std::to_string(port),         "--bind",
            "127.0.0.1", "--repl-diskless-sync-delay", "0"};
  }

  static RedisAddress Address(std::vector<RedisEndpoint> sentinels) {
    RedisAddress address;
    address.sentinels = std::move(sentinels);
    address.primary = "plans";
    return address;
  }

  static RedisEndpoint Nobody() { return {"127.0.0.1", UnusedPort()}; }

  // Repeats a command until it succeeds.
  static RedisReply Patiently(RedisClient* client, const std::vector<std::string_view>& words) {
    RedisReply reply;
    for (const auto end = In(kPatient); std::chrono::steady_clock::now() < end;) {
      reply = client->Command(words, In(500ms));
      if (reply.ok()) break;
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_TRUE(reply.ok()) << reply.text;
    return reply;
  }
};

TEST_F(RedisSentinelTest, AFailoverIsFollowed) {
  const int first = UnusedPort(), second = UnusedPort();
  RedisProcess primary(OnPort(first));
  std::vector<std::string> words = OnPort(second);
  words.insert(words.end(), {"--replicaof", "127.0.0.1 " + std::to_string(first)});
  RedisProcess replica(words);
  Sentinel sentinel(first);
  RedisClient client(Address({Nobody(), sentinel.endpoint()}), kPatient);
  Patiently(&client, {"SET", "plan", "a"});
  RedisReply copies;
  for (const auto end = In(kPatient);
       copies.integer == 0 && std::chrono::steady_clock::now() < end;) {
    copies = client.Command({"WAIT", "1", "100"}, In(kPatient));
  }
  ASSERT_EQ(copies.integer, 1);
  EXPECT_EQ(client.connections(), 1u);
  // Sentinel must have heard of the replica, by the primary's INFO, before it can promote it.
  RedisAddress asked;
  asked.host = sentinel.endpoint().host;
  asked.port = sentinel.endpoint().port;
  RedisClient watcher(asked, kPatient);
  RedisReply replicas;
  for (const auto end = In(kPatient);
       replicas.elements.empty() && std::chrono::steady_clock::now() < end;) {
    replicas = watcher.Command({"SENTINEL", "REPLICAS", "plans"}, In(kPatient));
    std::this_thread::sleep_for(20ms);
  }
  ASSERT_EQ(replicas.elements.size(), 1u);

  primary.Kill();
  EXPECT_EQ(Patiently(&client, {"GET", "plan"}).text, "a");
  EXPECT_EQ(client.Command({"ROLE"}, In(kPatient)).elements[0].text, "master");
  EXPECT_EQ(Patiently(&client, {"SET", "plan", "b"}).text, "OK");
  EXPECT_EQ(replica.Do({"GET", "plan"}).text, "b");
}

TEST_F(RedisSentinelTest, AnotherIsAskedAfterOneThatNamesAnOldPrimary) {
  const int port = UnusedPort();
  RedisProcess redis(OnPort(port));
  FakeServer stale(Names(UnusedPort())), sentinel(Names(port));
  RedisClient client(
      Address({{"127.0.0.1", stale.address().port}, {"127.0.0.1", sentinel.address().port}}),
      kPatient);
  EXPECT_FALSE(client.Command({"PING"}, In(kPatient)).ok());
  EXPECT_TRUE(client.Command({"PING"}, In(kPatient)).ok());
}

TEST_F(RedisSentinelTest, AReplicaIsRefused) {
  const int port = UnusedPort();
  RedisProcess redis(OnPort(port));
  FakeServer sentinel(Names(port));
  RedisClient client(Address({{"127.0.0.1", sentinel.address().port}}), kPatient);
  EXPECT_TRUE(client.Command({"SET", "a", "1"}, In(kPatient)).ok());
  ASSERT_TRUE(redis.Do({"REPLICAOF", "127.0.0.1", std::to_string(UnusedPort())}).ok());
  // The connection was made before: the first write shows what has become of it.
  EXPECT_THAT(client.Command({"SET", "a", "2"}, In(kPatient)).text, HasSubstr("READONLY"));
  EXPECT_FALSE(client.connected());
  const RedisReply refused = client.Command({"SET", "a", "2"}, In(kPatient));
  EXPECT_EQ(refused.fault, RedisFault::kUnreachable);
  EXPECT_THAT(refused.text, HasSubstr(" at 127.0.0.1:" + std::to_string(port) +
                                      ": is named as the primary, but is a replica"));
  EXPECT_FALSE(client.was_sent());
}

TEST_F(RedisSentinelTest, LoginsGoWhereTheyAreWanted) {
  const int port = UnusedPort();
  std::vector<std::string> words = OnPort(port);
  words.insert(words.end(), {"--requirepass", "s3cret"});
  RedisProcess redis(words);
  const Sentinel open(port, "sentinel auth-pass plans s3cret\n");
  const Sentinel closed(port, "sentinel auth-pass plans s3cret\nrequirepass s3cret\n");
  for (const Sentinel* sentinel : {&open, &closed}) {
    RedisAddress address = Address({sentinel->endpoint()});
    address.password = "s3cret";
    RedisClient client(address, kPatient);
    EXPECT_EQ(Patiently(&client, {"PING"}).text, "PONG");
  }
}

TEST_F(RedisSentinelTest, BothSpeakTls) {
  std::string folder = "/tmp/evenkeel-tls-XXXXXX";
  folder = mkdtemp(folder.data());
  TestAuthority authority(folder, "authority");
  const RedisTlsFiles files = authority.Issue("redis", "IP:127.0.0.1");
  const int port = UnusedPort();
  RedisProcess redis({"--tls-port", std::to_string(port), "--bind", "127.0.0.1", "--tls-cert-file",
                      files.certificate, "--tls-key-file", files.key, "--tls-ca-cert-file",
                      authority.ca(), "--tls-auth-clients", "no"});
  const Sentinel sentinel(port,
                          "tls-cert-file " + files.certificate + "\ntls-key-file " + files.key +
                              "\ntls-ca-cert-file " + authority.ca() + "\ntls-auth-clients no\n",
                          "tls-port");
  RedisAddress address = Address({sentinel.endpoint()});
  address.tls = true;
  address.tls_files = {authority.ca(), "", ""};
  RedisClient client(address, kPatient);
  EXPECT_EQ(Patiently(&client, {"PING"}).text, "PONG");
  address.tls_files = files;  // no authority of ours
  address.tls_files.ca = TestAuthority(folder, "stranger").ca();
  const RedisReply refused = RedisClient(address, kPatient).Command({"PING"}, In(kPatient));
  EXPECT_THAT(refused.text, HasSubstr("its certificate is not accepted"));
  std::filesystem::remove_all(folder);
}

TEST_F(RedisSentinelTest, WhatIsWrongIsSaid) {
  RedisProcess redis(OnPort(UnusedPort()));
  FakeServer unaware(Says("*-1\r\n")), other(Says("+PONG\r\n")), bad_port(Names(0));
  const RedisEndpoint nobody = Nobody();
  for (const auto& [port, text] : {std::pair(unaware.address().port, "knows no primary \"plans\""),
                                   {other.address().port, "is no Sentinel"},
                                   {bad_port.address().port, "is no Sentinel"},
                                   {nobody.port, "Connection refused"}}) {
    RedisClient client(Address({{"127.0.0.1", port}}), kPatient);
    const RedisReply reply = client.Command({"PING"}, In(kPatient));
    EXPECT_EQ(reply.fault, RedisFault::kUnreachable);
    EXPECT_THAT(reply.text, HasSubstr("no Sentinel tells where it is: redis 127.0.0.1:"));
    EXPECT_THAT(reply.text, HasSubstr(text));
    EXPECT_FALSE(client.was_sent());
  }
}

TEST_F(RedisSentinelTest, ASilentSentinelLeavesTimeForTheNext) {
  const int port = UnusedPort();
  RedisProcess redis(OnPort(port));
  FakeServer silent([](int, const std::atomic<bool>& stop) {
    while (!stop) std::this_thread::sleep_for(1ms);
  });
  FakeServer good(Names(port));
  RedisClient client(
      Address({{"127.0.0.1", silent.address().port}, {"127.0.0.1", good.address().port}}),
      kPatient);
  EXPECT_EQ(client.Command({"PING"}, In(2s)).text, "PONG");
  client.Disconnect();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(client.Command({"PING"}, In(2s)).text, "PONG");  // asks the one that answered first
  EXPECT_LT(std::chrono::steady_clock::now() - start, 900ms);
}

TEST_F(RedisSentinelTest, ProfilesAreNotTrustedToThem) {
  RedisStoreSettings settings;
  settings.address = Address({Nobody()});
  std::string error;
  EXPECT_EQ(RedisProfileStore::Open(settings, &error), nullptr);
  EXPECT_THAT(error, HasSubstr("name the primary itself"));
}

}  // namespace
}  // namespace evenkeel::server
