#include "server/redis/redis_address.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace evenkeel::server {
namespace {

TEST(RedisAddressTest, TakesAllForms) {
  RedisAddress a;
  EXPECT_EQ(ParseRedisAddress("redis.example.org:6380", &a), "");
  EXPECT_EQ(a.host, "redis.example.org");
  EXPECT_EQ(a.port, 6380);
  EXPECT_EQ(ParseRedisAddress("[::1]:6379", &a), "");
  EXPECT_EQ(a.host, "::1");
  EXPECT_EQ(NameOf(a), "[::1]:6379");
  EXPECT_EQ(NameOf(RedisEndpoint{"::1", 7}), "[::1]:7");
  EXPECT_EQ(NameOf(RedisEndpoint{"one", 7}), "one:7");
  EXPECT_EQ(ParseRedisAddress("unix:/run/redis.sock", &a), "");
  EXPECT_EQ(a.unix_path, "/run/redis.sock");
  EXPECT_EQ(ParseRedisAddress("redis://host", &a), "");
  EXPECT_EQ(a.port, 6379);
  EXPECT_EQ(ParseRedisAddress("redis://me:p%40ss%3A@host:7000/3", &a), "");
  EXPECT_EQ(a.user, "me");
  EXPECT_EQ(a.password, "p@ss:");
  EXPECT_EQ(a.host, "host");
  EXPECT_EQ(a.port, 7000);
  EXPECT_EQ(a.database, 3);
  EXPECT_FALSE(a.tls);
  EXPECT_EQ(ParseRedisAddress("rediss://me:x@host:7000/3", &a), "");
  EXPECT_TRUE(a.tls);
  EXPECT_EQ(a.host, "host");
  EXPECT_EQ(a.database, 3);
}

TEST(RedisAddressTest, TakesSentinels) {
  RedisAddress a;
  ASSERT_EQ(ParseRedisAddress("redis-sentinel://me:a%23b@one,two:7001,[::1]:7002/3#plans", &a), "");
  EXPECT_EQ(a.user, "me");
  EXPECT_EQ(a.password, "a#b");
  EXPECT_EQ(a.database, 3);
  EXPECT_EQ(a.primary, "plans");
  EXPECT_EQ(a.host, "");
  EXPECT_FALSE(a.tls);
  EXPECT_EQ(NameOf(a), "plans of Sentinel one:26379, two:7001, [::1]:7002");
  ASSERT_EQ(ParseRedisAddress("rediss-sentinel://one#plans", &a), "");
  EXPECT_TRUE(a.tls);
  EXPECT_EQ(a.sentinels.size(), 1u);
}

TEST(RedisAddressTest, RefusesWhatItCanNotUse) {
  RedisAddress a;
  for (const char* text : {"redis-sentinel://one",
                           "redis-sentinel://one#",
                           "redis-sentinel://#plans",
                           "redis-sentinel://one,#plans",
                           "redis-sentinel://one:0#plans",
                           "redis-sentinel://one/x#plans",
                           "redis-sentinel://password@one#plans",
                           "",
                           "host",
                           "host:",
                           "host:0",
                           "host:65536",
                           "host:x",
                           ":6379",
                           "unix:relative",
                           "a:b:1",
                           "[::1:6379",
                           "redis://",
                           "redis://password@host",
                           "redis://a:%4@host",
                           "redis://a:%zz@host",
                           "redis://host/x",
                           "redis://host:1:2",
                           "rediss://",
                           "rediss:host:1"}) {
    EXPECT_NE(ParseRedisAddress(text, &a), "") << text;
  }
}

TEST(RedisAddressTest, IsToldFromAFile) {
  for (const char* text : {"redis://host", "rediss://host", "redis-sentinel://host#a",
                           "rediss-sentinel://host#a", "unix:/run/redis"}) {
    EXPECT_TRUE(IsRedisName(text)) << text;
  }
  for (const char* text : {"profiles", "/var/lib/redis", "unix", "redis"}) {
    EXPECT_FALSE(IsRedisName(text)) << text;
  }
}

TEST(RedisAddressTest, NamesHaveNoPassword) {
  RedisAddress a;
  ASSERT_EQ(ParseRedisAddress("redis://me:secret@host:7000", &a), "");
  EXPECT_EQ(NameOf(a), "host:7000");
  EXPECT_EQ(WithoutPassword("redis://me:sec@ret@host:x"), "redis://***@host:x");
  EXPECT_EQ(WithoutPassword("host:7000"), "host:7000");
}

TEST(RedisAddressTest, ReadsThePasswordFromAFile) {
  const std::string path = testing::TempDir() + "/redis-password";
  RedisAddress a;
  std::ofstream(path) << "secret\r\nmore\n";
  EXPECT_EQ(ReadRedisPassword(path, &a), "");
  EXPECT_EQ(a.password, "secret");
  std::ofstream(path) << "\n";
  EXPECT_NE(ReadRedisPassword(path, &a), "");
  EXPECT_NE(ReadRedisPassword(path + "-none", &a).find("cannot read"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::server
