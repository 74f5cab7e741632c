#include "server/redis/redis_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "tests/server/redis/redis_process.h"

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;
using Kind = RedisReply::Kind;

class RedisClientTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisProcess::Exists()) GTEST_SKIP() << "there is no redis-server to test with";
  }
};

TEST_F(RedisClientTest, IsBinarySafe) {
  RedisProcess redis;
  RedisClient client(redis.address(), kPatient);
  std::string bytes(100'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  EXPECT_EQ(client.Command({"SET", std::string("a\0b\r\n", 5), bytes}, In(kPatient)).text, "OK");
  EXPECT_EQ(client.Command({"GET", std::string("a\0b\r\n", 5)}, In(kPatient)).text, bytes);
  EXPECT_EQ(client.Command({"GET", "none"}, In(kPatient)).kind, Kind::kNil);
  EXPECT_EQ(client.Command({"RPUSH", "list", "x", ""}, In(kPatient)).integer, 2);
  const RedisReply list = client.Command({"LRANGE", "list", "0", "-1"}, In(kPatient));
  ASSERT_EQ(list.kind, Kind::kArray);
  EXPECT_EQ(list.elements[0].text, "x");
  EXPECT_EQ(list.elements[1].text, "");
  EXPECT_EQ(client.connections(), 1u);
}

TEST_F(RedisClientTest, AnErrorOfTheServerKeepsTheConnection) {
  RedisProcess redis;
  RedisClient client(redis.address(), kPatient);
  EXPECT_EQ(client.Command({"NOSUCH"}, In(kPatient)).fault, RedisFault::kServer);
  EXPECT_TRUE(client.connected());
}

TEST_F(RedisClientTest, ALateReplyNeverAnswersTheNextCommand) {
  RedisProcess redis;
  RedisClient client(redis.address(), kPatient);
  ASSERT_TRUE(client.Command({"SET", "a", "1"}, In(kPatient)).ok());
  ASSERT_TRUE(client.Command({"SET", "b", "2"}, In(kPatient)).ok());
  redis.Pause();
  EXPECT_EQ(client.Command({"GET", "a"}, In(20ms)).fault, RedisFault::kTimeout);
  EXPECT_TRUE(client.was_sent());
  EXPECT_FALSE(client.connected());
  redis.Resume();
  EXPECT_EQ(client.Command({"GET", "b"}, In(kPatient)).text, "2");
}

TEST_F(RedisClientTest, ConnectsAnewAfterARestart) {
  RedisProcess redis;
  RedisClient client(redis.address(), kPatient);
  ASSERT_TRUE(client.Command({"PING"}, In(kPatient)).ok());
  redis.Kill();
  const RedisReply down = client.Command({"PING"}, In(kPatient));
  EXPECT_EQ(down.fault, RedisFault::kUnreachable);
  EXPECT_FALSE(client.was_sent());
  redis.Start();
  EXPECT_TRUE(client.Command({"PING"}, In(kPatient)).ok());  // without a failure in between
}

TEST_F(RedisClientTest, LogsIn) {
  RedisProcess redis({"--requirepass", "s3cret"});
  RedisAddress address = redis.address();
  EXPECT_EQ(RedisClient(address, kPatient).Command({"GET", "a"}, In(kPatient)).fault,
            RedisFault::kServer);
  address.password = "wrong-password";
  RedisClient wrong(address, kPatient);
  const RedisReply refused = wrong.Command({"GET", "a"}, In(kPatient));
  EXPECT_EQ(refused.fault, RedisFault::kUnreachable);
  EXPECT_NE(refused.text.find("login failed"), std::string::npos) << refused.text;
  EXPECT_EQ(refused.text.find("wrong-password"), std::string::npos) << refused.text;
  address.password = "s3cret";
  address.database = 5;
  RedisClient right(address, kPatient);
  EXPECT_TRUE(right.Command({"SET", "a", "1"}, In(kPatient)).ok());
  address.user = "default";
  EXPECT_EQ(RedisClient(address, kPatient).Command({"GET", "a"}, In(kPatient)).text, "1");
}

TEST(FakeRedisTest, GarbageIsAFaultOfTheProtocol) {
  for (const char* text : {"HTTP/1.1 400 Bad Request\r\n\r\n", "\xff\xfe\r\n", "+OK\r\n+OK\r\n"}) {
    FakeServer fake(Says(text));
    RedisClient client(fake.address(), kPatient);
    EXPECT_EQ(client.Command({"PING"}, In(kPatient)).fault, RedisFault::kProtocol) << text;
    EXPECT_FALSE(client.connected());
  }
}

TEST(FakeRedisTest, APartOfAClusterIsNamed) {
  for (const char* text :
       {"MOVED 866 10.0.0.7:6379", "ASK 866 10.0.0.7:6379", "CLUSTERDOWN Hash slot not served",
        "CROSSSLOT Keys in request don't hash to the same slot"}) {
    FakeServer fake(Says("-" + std::string(text) + "\r\n"));
    RedisClient client(fake.address(), kPatient);
    const RedisReply reply = client.Command({"GET", "a"}, In(kPatient));
    EXPECT_EQ(reply.fault, RedisFault::kCluster) << text;
    EXPECT_NE(reply.text.find("is part of a Redis Cluster, which is not supported"),
              std::string::npos)
        << reply.text;
    EXPECT_NE(reply.text.find(text), std::string::npos) << reply.text;
    EXPECT_FALSE(client.connected());
  }
}

// Each piece arrives in time, but the whole never does.
TEST(FakeRedisTest, ATrickleEndsAtTheDeadline) {
  FakeServer fake([](int fd, const std::atomic<bool>& stop) {
    const std::string head = "$100000\r\n";
    (void)!send(fd, head.data(), head.size(), MSG_NOSIGNAL);
    while (!stop && send(fd, "x", 1, MSG_NOSIGNAL) == 1) std::this_thread::sleep_for(1ms);
  });
  RedisClient client(fake.address(), kPatient);
  EXPECT_EQ(client.Command({"GET", "a"}, In(50ms)).fault, RedisFault::kTimeout);
}

TEST(FakeRedisTest, NobodyListens) {
  RedisAddress address;
  {
    FakeServer fake(Says(""));
    address = fake.address();
  }
  EXPECT_EQ(RedisClient(address, kPatient).Command({"PING"}, In(kPatient)).fault,
            RedisFault::kUnreachable);
  address = RedisAddress();
  address.host = "no-such-host.invalid";
  address.port = 6379;
  EXPECT_EQ(RedisClient(address, kPatient).Command({"PING"}, In(kPatient)).fault,
            RedisFault::kUnreachable);
}

}  // namespace
}  // namespace evenkeel::server
