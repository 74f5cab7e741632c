#include "server/redis/redis_tier.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <string>

#include "tests/server/redis/redis_process.h"

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;
using State = CircuitBreaker::State;

class TierClock : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override {
    return std::chrono::steady_clock::now() + later.load();
  }
  std::atomic<std::chrono::nanoseconds> later{0ns};
};

class RedisTierTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisProcess::Exists()) GTEST_SKIP() << "there is no redis-server to test with";
  }

  // The budget is generous, because the machine may be busy.
  void Open(const RedisAddress& address, std::chrono::milliseconds budget = 2000ms,
            size_t queue_length = 256) {
    RedisTierSettings settings;
    settings.address = address;
    settings.budget = budget;
    settings.queue_length = queue_length;
    tier_ = std::make_unique<RedisTier>(settings, clock_, 1);
  }

  // Looks up a key and waits for the answer.
  std::optional<std::string> Find(const std::string& key) {
    std::mutex mutex;
    std::condition_variable wake;
    int answers = 0;
    std::optional<std::string> answer;
    tier_->Find(key, [&](std::optional<std::string> bytes, bool known) {
      const std::lock_guard lock(mutex);
      ++answers;
      answer = std::move(bytes);
      known_ = known;
      wake.notify_all();
    });
    std::unique_lock lock(mutex);
    EXPECT_TRUE(wake.wait_for(lock, kPatient, [&] { return answers > 0; }));
    EXPECT_EQ(answers, 1);
    return answer;
  }

  template <typename Condition>
  static bool Eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kPatient;
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  TierClock clock_;
  std::unique_ptr<RedisTier> tier_;
  bool known_ = false;  // result of the last Find
};

TEST_F(RedisTierTest, FindsWhatWasPut) {
  RedisProcess redis;
  Open(redis.address());
  EXPECT_EQ(Find("plan"), std::nullopt);
  EXPECT_TRUE(known_);
  const std::string bytes("a\0b", 3);
  std::promise<bool> kept;
  tier_->Put("plan", bytes, 1h, [&](bool done) { kept.set_value(done); });
  ASSERT_TRUE(kept.get_future().get());
  EXPECT_EQ(tier_->counters().writes, 1u);
  EXPECT_EQ(Find("plan"), bytes);
  EXPECT_GT(redis.Do({"PTTL", "plan"}).integer, 0);
  Open(redis.address());  // as another replica
  EXPECT_EQ(Find("plan"), bytes);
  const RedisTierCounters counters = tier_->counters();
  EXPECT_EQ(counters.hits, 1u);
  EXPECT_EQ(counters.misses, 0u);
}

TEST_F(RedisTierTest, AHungRedisCostsTheBudgetAndThenNothing) {
  RedisProcess redis;
  Open(redis.address(), 5ms);
  redis.Pause();
  constexpr int kLookups = 200;
  int nothing = 0;
  for (int i = 0; i < kLookups; ++i) nothing += Find("plan") == std::nullopt && !known_ ? 1 : 0;
  EXPECT_EQ(nothing, kLookups);
  EXPECT_EQ(tier_->counters().breaker, State::kOpen);
  const RedisTierCounters counters = tier_->counters();
  EXPECT_GT(counters.refused, static_cast<uint64_t>(kLookups / 2));
  EXPECT_GE(counters.timeouts, 1u);
  redis.Resume();
  clock_.later = 31s;
  EXPECT_TRUE(Eventually([&] {
    (void)Find("plan");
    clock_.later = clock_.later.load() + 31s;  // a probe may come too late on a busy machine
    return tier_->counters().misses > 0;
  }));
}

// Each look-up is answered exactly once, for every fate of its command.
TEST_F(RedisTierTest, ASlowRedisAnswersTooLate) {
  RedisProcess redis;
  ASSERT_TRUE(redis.Do({"SET", "plan", "bytes"}).ok());
  FakeServer proxy(SlowProxy(redis.socket_path(), 100ms));
  Open(proxy.address(), 20ms);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Find("plan"), std::nullopt);
  const RedisTierCounters counters = tier_->counters();
  EXPECT_EQ(counters.hits, 0u);
  EXPECT_EQ(counters.timeouts + counters.errors + counters.refused, 5u);
  EXPECT_TRUE(Eventually([&] { return tier_->counters().breaker == State::kOpen; }));
  Open(proxy.address(), 5000ms);  // slowness is not a fault if there is enough time
  EXPECT_EQ(Find("plan"), "bytes");
}

TEST_F(RedisTierTest, ARedisThatDiesAndComesBack) {
  RedisProcess redis;
  Open(redis.address());
  EXPECT_EQ(Find("plan"), std::nullopt);
  redis.Kill();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Find("plan"), std::nullopt);
  EXPECT_EQ(tier_->counters().breaker, State::kOpen);
  EXPECT_EQ(tier_->counters().errors, 3u);
  EXPECT_EQ(tier_->counters().refused, 1u);
  tier_->Put("plan", "bytes", 1h);
  EXPECT_EQ(tier_->counters().dropped_writes, 1u);
  redis.Start();
  clock_.later = 1s;
  EXPECT_EQ(Find("plan"), std::nullopt);
  EXPECT_EQ(tier_->counters().breaker, State::kClosed);
}

TEST_F(RedisTierTest, GarbageAndForeignKeysAreNoValues) {
  FakeServer fake(Says("HTTP/1.1 400 Bad Request\r\n\r\n"));
  Open(fake.address());
  EXPECT_EQ(Find("plan"), std::nullopt);
  EXPECT_EQ(tier_->counters().errors, 1u);
  RedisProcess redis;
  ASSERT_TRUE(redis.Do({"RPUSH", "plan", "x"}).ok());
  Open(redis.address());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Find("plan"), std::nullopt);
  EXPECT_EQ(tier_->counters().breaker, State::kClosed);  // a foreign key is not a fault of Redis
}

TEST_F(RedisTierTest, APartOfAClusterIsNotUsed) {
  FakeServer fake(Says("-MOVED 866 10.0.0.7:6379\r\n"));
  Open(fake.address());
  tier_->Put("plan", "bytes", 1h);
  EXPECT_TRUE(Eventually([&] { return tier_->counters().write_errors == 1; }));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Find("plan"), std::nullopt);
    EXPECT_FALSE(known_);
  }
  EXPECT_EQ(tier_->counters().breaker, State::kOpen);  // writes count: Redis serves neither
}

TEST_F(RedisTierTest, AWrongPasswordIsAFault) {
  RedisProcess redis({"--requirepass", "s3cret"});
  Open(redis.address());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Find("plan"), std::nullopt);
  EXPECT_EQ(tier_->counters().breaker, State::kOpen);
}

TEST_F(RedisTierTest, AFullRedisIsStillRead) {
  RedisProcess redis;
  ASSERT_TRUE(redis.Do({"SET", "old", "bytes"}).ok());
  ASSERT_TRUE(redis.Do({"CONFIG", "SET", "maxmemory", "1"}).ok());
  Open(redis.address());
  for (int i = 0; i < 5; ++i) tier_->Put("new", "bytes", 1h);
  ASSERT_TRUE(Eventually([&] { return tier_->counters().write_errors == 5; }));
  EXPECT_EQ(Find("old"), "bytes");
}

TEST_F(RedisTierTest, AFullQueueRefusesAtOnce) {
  RedisProcess redis;
  Open(redis.address(), 200ms, 4);
  redis.Pause();
  std::atomic<int> answers = 0;
  for (int i = 0; i < 20; ++i) tier_->Find("plan", [&](const auto&, bool) { ++answers; });
  for (int i = 0; i < 20; ++i) tier_->Put("plan", "bytes", 1h);
  EXPECT_GE(answers, 14);  // two run, four wait
  EXPECT_EQ(tier_->counters().dropped_writes, 20u);
  tier_->Put("plan", std::string(17 << 20, 'x'), 1h);
  EXPECT_EQ(tier_->counters().dropped_writes, 21u);
  tier_.reset();
  EXPECT_EQ(answers, 20);
  redis.Resume();
}

}  // namespace
}  // namespace evenkeel::server
