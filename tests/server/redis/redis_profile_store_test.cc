#include "server/redis/redis_profile_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/calibration/record_bytes.h"
#include "tests/server/redis/redis_process.h"

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

ProfileRecord Record(int64_t revision, const std::string& profile = "profile") {
  ProfileRecord record;
  record.revision = revision;
  record.unix_ns = 1'700'000'000'000'000'000 + revision;
  record.author = "tester";
  record.profile = profile + std::string("\0\r\n", 3) + std::to_string(revision);
  return record;
}

class RedisProfileStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisProcess::Exists()) GTEST_SKIP() << "there is no redis-server to test with";
  }

  static std::unique_ptr<RedisProfileStore> Open(const RedisProcess& redis, std::string* error,
                                                 bool trust = false, std::string tenant = "",
                                                 int64_t capacity = kHistoryBytesAtMost) {
    RedisStoreSettings settings;
    settings.capacity_bytes = capacity;
    settings.address = redis.address();
    settings.trust = trust;
    settings.tenant = std::move(tenant);
    settings.read_timeout = kPatient;
    settings.append_timeout = kPatient;
    return RedisProfileStore::Open(settings, error);
  }

  static std::unique_ptr<RedisProfileStore> Opened(const RedisProcess& redis,
                                                   const std::string& tenant = "") {
    std::string error;
    auto store = Open(redis, &error, false, tenant);
    EXPECT_NE(store, nullptr) << error;
    return store;
  }

  static std::string Refusal(const RedisProcess& redis, bool trust = false) {
    std::string error;
    EXPECT_EQ(Open(redis, &error, trust), nullptr);
    return error;
  }

  static void Push(const RedisProcess& redis, const ProfileRecord& record) {
    ASSERT_TRUE(redis.Do({"RPUSH", ProfilesKey(""), EncodeRecord(record)}).ok());
  }
};

TEST_F(RedisProfileStoreTest, KeepsEveryFieldOverARestart) {
  RedisProcess redis(RedisProcess::Durable());
  const auto store = Opened(redis);
  EXPECT_TRUE(store->durable());
  EXPECT_EQ(store->Append(Record(1)).revision, 1);
  EXPECT_EQ(store->Append(Record(2)).revision, 2);
  redis.Kill();
  redis.Start();
  const std::vector<ProfileRecord> history = Opened(redis)->TakeHistory();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(EncodeRecord(history[1]), EncodeRecord(Record(2)));
  EXPECT_EQ(store->Append(Record(3)).revision, 3);  // it reconnects
}

TEST_F(RedisProfileStoreTest, ReplicasSeeEachOther) {
  RedisProcess redis(RedisProcess::Durable());
  const auto a = Opened(redis), b = Opened(redis);
  for (int i = 1; i <= 150; ++i) ASSERT_EQ(a->Append(Record(i)).revision, i);
  EXPECT_TRUE(b->Append(Record(1, "other")).conflict);
  int64_t read = 0;
  for (bool complete = false; !complete;) {
    const NewRecords found = b->ReadAfter(read, false);
    ASSERT_EQ(found.error, "");
    for (const ProfileRecord& record : found.records) EXPECT_EQ(record.revision, ++read);
    complete = found.complete;
  }
  EXPECT_EQ(read, 150);
  EXPECT_EQ(b->Append(Record(151)).revision, 151);
  EXPECT_TRUE(a->Append(Record(151, "other")).conflict);
  EXPECT_EQ(a->ReadAfter(150, false).records.size(), 1u);
}

// A cluster of one part serves all keys. One that lost them, or never had them, is named as such.
TEST_F(RedisProfileStoreTest, APartOfAClusterIsNamed) {
  std::vector<std::string> settings = RedisProcess::Durable();
  const std::string port = std::to_string(FakeServer(Says("")).address().port);  // for its bus
  settings.insert(settings.end(), {"--cluster-enabled", "yes", "--cluster-port", port});
  RedisProcess redis(settings);
  EXPECT_THAT(Refusal(redis), HasSubstr("is part of a Redis Cluster, which is not supported"));
  ASSERT_TRUE(redis.Do({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}).ok());
  const auto end = std::chrono::steady_clock::now() + kPatient;
  while (!redis.Do({"GET", "a"}).ok() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(20ms);
  }
  const auto store = Opened(redis);
  EXPECT_EQ(store->Append(Record(1)).revision, 1);
  ASSERT_TRUE(redis.Do({"CLUSTER", "DELSLOTSRANGE", "0", "16383"}).ok());
  const AppendResult refused = store->Append(Record(2));
  EXPECT_EQ(refused.revision, 0);
  EXPECT_FALSE(refused.unknown);  // Redis did nothing
  EXPECT_THAT(refused.error, HasSubstr("is part of a Redis Cluster, which is not supported"));
  EXPECT_THAT(store->ReadAfter(1, false).error, HasSubstr("CLUSTERDOWN"));
}

// Records that were read count too, and only once if they are read several times.
TEST_F(RedisProfileStoreTest, IsFullAtItsLimit) {
  RedisProcess redis(RedisProcess::Durable());
  const auto bytes = static_cast<int64_t>(EncodeRecord(Record(1)).size());
  std::string error;
  const auto a = Open(redis, &error, false, "", 3 * bytes);
  const auto b = Open(redis, &error, false, "", 3 * bytes);
  EXPECT_EQ(a->Append(Record(1)).revision, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(b->ReadAfter(0, false).records.size(), 1u);
  EXPECT_EQ(b->Append(Record(2)).revision, 2);
  EXPECT_EQ(b->Append(Record(3)).revision, 3);
  EXPECT_THAT(b->Append(Record(4)).error, HasSubstr("the store is full"));
  EXPECT_EQ(a->ReadAfter(1, false).records.size(), 2u);
  EXPECT_THAT(a->Append(Record(4)).error, HasSubstr("the store is full"));
}

// If the reply was lost, repeating the append does not append twice.
TEST_F(RedisProfileStoreTest, ARepeatedAppendIsOne) {
  RedisProcess redis(RedisProcess::Durable());
  const auto store = Opened(redis);
  Push(redis, Record(1));
  EXPECT_EQ(store->Append(Record(1)).revision, 1);
  EXPECT_EQ(redis.Do({"LLEN", ProfilesKey("")}).integer, 1);
}

TEST_F(RedisProfileStoreTest, TenantsHaveTheirOwn) {
  RedisProcess redis(RedisProcess::Durable());
  EXPECT_EQ(Opened(redis, "one")->Append(Record(1)).revision, 1);
  EXPECT_TRUE(Opened(redis, "two")->TakeHistory().empty());
  EXPECT_EQ(Opened(redis, "one")->TakeHistory().size(), 1u);
}

TEST_F(RedisProfileStoreTest, RefusesARedisThatMayForget) {
  EXPECT_THAT(Refusal(RedisProcess()), HasSubstr("appendonly yes"));
  RedisProcess everysec({"--appendonly", "yes"});
  EXPECT_THAT(Refusal(everysec), HasSubstr("appendfsync always"));
  RedisProcess redis(RedisProcess::Durable());
  ASSERT_TRUE(redis.Do({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"}).ok());
  EXPECT_THAT(Refusal(redis), HasSubstr("noeviction"));
  ASSERT_TRUE(redis.Do({"CONFIG", "SET", "maxmemory-policy", "noeviction"}).ok());
  ASSERT_TRUE(redis.Do({"REPLICAOF", "127.0.0.1", "1"}).ok());
  EXPECT_THAT(Refusal(redis), HasSubstr("replica"));
  std::string error;
  const auto trusted = Open(everysec, &error, /*trust=*/true);
  ASSERT_NE(trusted, nullptr) << error;
  EXPECT_FALSE(trusted->durable());  // trust does not override what it shows
}

TEST_F(RedisProfileStoreTest, AHiddenSetUpNeedsTrust) {
  RedisProcess redis(RedisProcess::Durable());
  ASSERT_TRUE(redis.Do({"ACL", "SETUSER", "default", "-config"}).ok());
  EXPECT_THAT(Refusal(redis), HasSubstr("--profile-redis-trust=true"));
  std::string error;
  const auto trusted = Open(redis, &error, /*trust=*/true);
  ASSERT_NE(trusted, nullptr) << error;
  EXPECT_TRUE(trusted->durable());
}

// Somebody changes the configuration while the store is in use.
TEST_F(RedisProfileStoreTest, AcknowledgesNothingThatMayBeLost) {
  RedisProcess redis(RedisProcess::Durable());
  const auto store = Opened(redis);
  ASSERT_TRUE(redis.Do({"CONFIG", "SET", "appendfsync", "everysec"}).ok());
  const AppendResult refused = store->Append(Record(1));
  EXPECT_THAT(refused.error, HasSubstr("appendfsync always"));
  EXPECT_FALSE(refused.unknown);
  EXPECT_EQ(redis.Do({"LLEN", ProfilesKey("")}).integer, 0);
  ASSERT_TRUE(redis.Do({"CONFIG", "SET", "appendfsync", "always"}).ok());
  EXPECT_EQ(store->Append(Record(1)).revision, 1);
}

TEST_F(RedisProfileStoreTest, DamagedAndForeignRecordsAreRefused) {
  RedisProcess redis(RedisProcess::Durable());
  const auto store = Opened(redis);
  ASSERT_EQ(store->Append(Record(1)).revision, 1);
  Push(redis, Record(2));
  std::string damaged = EncodeRecord(Record(3));
  damaged[damaged.size() / 2] ^= 1;
  ASSERT_TRUE(redis.Do({"RPUSH", ProfilesKey(""), damaged}).ok());
  const NewRecords found = store->ReadAfter(1, false);
  EXPECT_TRUE(found.damaged);
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(found.records.size(), 1u);  // the record before it is good
  EXPECT_THAT(found.error, HasSubstr("revision 3 is damaged"));
  EXPECT_THAT(Refusal(redis), HasSubstr("revision 3 is damaged"));
  ASSERT_TRUE(redis.Do({"LSET", ProfilesKey(""), "2", EncodeRecord(Record(4))}).ok());
  EXPECT_THAT(Refusal(redis), HasSubstr("damaged"));  // a record from another place
  ASSERT_TRUE(redis.Do({"LSET", ProfilesKey(""), "2", "hello"}).ok());
  EXPECT_THAT(Refusal(redis), HasSubstr("is not a record of evenkeel"));
  ASSERT_TRUE(redis.Do({"SET", ProfilesKey(""), "hello"}).ok());
  EXPECT_THAT(Refusal(redis), HasSubstr("WRONGTYPE"));
  EXPECT_TRUE(store->ReadAfter(2, false).damaged);
}

TEST_F(RedisProfileStoreTest, AnotherHistoryIsNoticed) {
  RedisProcess redis(RedisProcess::Durable());
  const auto store = Opened(redis);
  ASSERT_EQ(store->Append(Record(1)).revision, 1);
  ASSERT_EQ(store->Append(Record(2)).revision, 2);
  ASSERT_TRUE(redis.Do({"RPOP", ProfilesKey("")}).ok());
  EXPECT_TRUE(store->ReadAfter(2, false).damaged);
  EXPECT_THAT(store->ReadAfter(2, false).error, HasSubstr("has 1 revisions, and had 2"));
  EXPECT_TRUE(store->Append(Record(3)).conflict);
  Push(redis, Record(2, "other"));
  EXPECT_THAT(store->ReadAfter(2, false).error, HasSubstr("another history"));
  EXPECT_EQ(store->Append(Record(3)).revision, 0);
  EXPECT_EQ(redis.Do({"LLEN", ProfilesKey("")}).integer, 2);
}

TEST_F(RedisProfileStoreTest, WithoutAReplyTheOutcomeIsUnknown) {
  RedisProcess redis(RedisProcess::Durable());
  RedisStoreSettings settings;
  settings.address = redis.address();
  settings.append_timeout = 100ms;
  std::string error;
  const auto store = RedisProfileStore::Open(settings, &error);
  ASSERT_NE(store, nullptr) << error;
  redis.Kill();
  const AppendResult down = store->Append(Record(1));
  EXPECT_EQ(down.revision, 0);
  EXPECT_FALSE(down.unknown);  // it was never sent
  EXPECT_NE(down.error, "");
  EXPECT_NE(store->ReadAfter(0, false).error, "");
  EXPECT_FALSE(store->ReadAfter(0, false).damaged);
  redis.Start();
  EXPECT_EQ(store->Append(Record(1)).revision, 1);
  // It hangs for less time than all tries take, so the outcome is found out.
  redis.Pause();
  std::thread later([&] {
    std::this_thread::sleep_for(150ms);
    redis.Signal(SIGCONT);
  });
  const AppendResult slow = store->Append(Record(2));
  later.join();
  redis.Resume();
  EXPECT_TRUE(slow.revision == 2 || !slow.error.empty());
  if (slow.revision == 2) {
    EXPECT_EQ(redis.Do({"LLEN", ProfilesKey("")}).integer, 2);
  }
}

TEST_F(RedisProfileStoreTest, LoadsAHistoryOnlyWhereThereIsNone) {
  RedisProcess redis(RedisProcess::Durable());
  const auto store = Opened(redis);
  std::vector<ProfileRecord> history;
  for (int i = 1; i <= 5; ++i) history.push_back(Record(i));
  EXPECT_EQ(store->Load(history), "");
  EXPECT_EQ(redis.Do({"TTL", ProfilesKey("")}).integer, -1);
  const std::vector<ProfileRecord> loaded = Opened(redis)->TakeHistory();
  ASSERT_EQ(loaded.size(), history.size());
  EXPECT_EQ(EncodeRecord(loaded[4]), EncodeRecord(history[4]));
  EXPECT_THAT(store->Load(history), HasSubstr("has a history already"));
  EXPECT_EQ(redis.Do({"DBSIZE"}).integer, 1);  // nothing is left behind
}

}  // namespace
}  // namespace evenkeel::server
