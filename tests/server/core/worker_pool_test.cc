#include "server/core/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace evenkeel::server {
namespace {

// A pool of one thread that is busy until Release.
class WorkerPoolTest : public testing::Test {
 protected:
  ~WorkerPoolTest() override { Release(); }

  void Occupy() {
    std::promise<void> started;
    ASSERT_TRUE(pool_.Submit([&, gate = gate_.get_future().share()](const QueueWait&) {
      started.set_value();
      gate.wait();
    }));
    started.get_future().wait();
  }
  void Release() {
    if (!released_.exchange(true)) gate_.set_value();
  }

  Clock clock_;
  std::promise<void> gate_;
  std::atomic<bool> released_ = false;
  WorkerPool pool_{1, 2, clock_};
};

TEST_F(WorkerPoolTest, RunsWhatIsSubmitted) {
  std::promise<double> waited;
  ASSERT_TRUE(pool_.Submit([&](const QueueWait& wait) { waited.set_value(wait.seconds); }));
  EXPECT_GE(waited.get_future().get(), 0);
}

TEST_F(WorkerPoolTest, RefusesWhenTheQueueIsFull) {
  Occupy();
  EXPECT_TRUE(pool_.Submit([](const QueueWait&) {}));
  EXPECT_TRUE(pool_.Submit([](const QueueWait&) {}));
  EXPECT_EQ(pool_.depth(), 2u);
  EXPECT_FALSE(pool_.Submit([](const QueueWait&) {}));
}

TEST_F(WorkerPoolTest, AWithdrawnTaskNeverRunsAndFreesItsPlace) {
  Occupy();
  std::atomic<bool> ran = false;
  const auto id = pool_.Submit([&](const QueueWait&) { ran = true; });
  ASSERT_TRUE(pool_.Submit([](const QueueWait&) {}));
  EXPECT_TRUE(pool_.Withdraw(*id));
  EXPECT_FALSE(pool_.Withdraw(*id));
  std::promise<void> last;
  ASSERT_TRUE(pool_.Submit([&](const QueueWait&) { last.set_value(); }));
  Release();
  last.get_future().wait();
  EXPECT_FALSE(ran);
}

TEST_F(WorkerPoolTest, ShutdownWaitsForWhatRunsAndDropsWhatWaits) {
  Occupy();
  std::atomic<bool> ran = false;
  ASSERT_TRUE(pool_.Submit([&](const QueueWait&) { ran = true; }));
  std::thread shutdown([this] { pool_.Shutdown(); });
  while (pool_.depth() != 0) std::this_thread::yield();
  Release();
  shutdown.join();
  EXPECT_FALSE(ran);
  EXPECT_FALSE(pool_.Submit([](const QueueWait&) {}));
}

constexpr double kHeavy = 5, kBrief = 0.1;

// Tasks that wait until they are released, and are counted while they run. It outlives their pool.
class Gate {
 public:
  WorkerPool::Submission Task(const std::string& client, double cost) {
    return {.task =
                [this](const QueueWait&) {
                  ++running_;
                  released_.wait();
                },
            .client = client,
            .cost_seconds = cost};
  }
  void WaitForRunning(int count) const {
    while (running_ < count) std::this_thread::yield();
  }
  int running() const { return running_; }
  void Release() { promise_.set_value(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> released_ = promise_.get_future().share();
  std::atomic<int> running_ = 0;
};

TEST(WorkerPoolLanes, OneThreadOfSeveralIsKeptFreeOfHeavyTasks) {
  const Clock clock;
  Gate heavy, brief;
  WorkerPool pool(3, 8, clock);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(pool.Submit(heavy.Task("a", kHeavy)).id);
  heavy.WaitForRunning(2);
  EXPECT_EQ(pool.depth(), 3u);
  EXPECT_EQ(pool.depth(Lane::kHeavy), 3u);
  ASSERT_TRUE(pool.Submit(brief.Task("a", kBrief)).id);
  brief.WaitForRunning(1);  // while all heavy ones still run or wait
  EXPECT_EQ(heavy.running(), 2);
  heavy.Release();
  heavy.WaitForRunning(5);
  brief.Release();
}

TEST(WorkerPoolLanes, HeavyTasksRunWhereThereIsOneThread) {
  const Clock clock;
  Gate heavy;
  WorkerPool pool(1, 8, clock);
  ASSERT_TRUE(pool.Submit(heavy.Task("a", kHeavy)).id);
  heavy.WaitForRunning(1);
  heavy.Release();
}

TEST(WorkerPoolLanes, ATaskThatGivesWayIsHandedBackAndNeverRuns) {
  const Clock clock;
  Gate first;
  WorkerPool pool(1, 2, clock);
  ASSERT_TRUE(pool.Submit(first.Task("a", kBrief)).id);
  first.WaitForRunning(1);
  std::atomic<int> ran = 0;
  const auto count = [&ran](const QueueWait&) { ++ran; };
  const auto owner = std::make_shared<int>(7);
  ASSERT_TRUE(pool.Submit({.task = count, .client = "a", .cost_seconds = kBrief}).id);
  ASSERT_TRUE(
      pool.Submit({.task = count, .client = "a", .cost_seconds = kBrief, .owner = owner}).id);
  EXPECT_FALSE(pool.Submit({.task = count, .client = "a", .cost_seconds = kBrief}).id);
  const auto admission = pool.Submit({.task = count, .client = "b", .cost_seconds = kBrief});
  EXPECT_TRUE(admission.id);
  EXPECT_EQ(admission.displaced, owner);
  EXPECT_EQ(owner.use_count(), 2);
  first.Release();
  while (ran < 2) std::this_thread::yield();
  while (pool.depth() > 0) std::this_thread::yield();
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace evenkeel::server
