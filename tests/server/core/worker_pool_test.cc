#include "server/core/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

namespace evenkeel::server {
namespace {

// A pool of one thread that is busy until Release.
class WorkerPoolTest : public testing::Test {
 protected:
  ~WorkerPoolTest() override { Release(); }

  void Occupy() {
    std::promise<void> started;
    ASSERT_TRUE(pool_.Submit([&, gate = gate_.get_future().share()](double) {
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
  ASSERT_TRUE(pool_.Submit([&](double seconds) { waited.set_value(seconds); }));
  EXPECT_GE(waited.get_future().get(), 0);
}

TEST_F(WorkerPoolTest, RefusesWhenTheQueueIsFull) {
  Occupy();
  EXPECT_TRUE(pool_.Submit([](double) {}));
  EXPECT_TRUE(pool_.Submit([](double) {}));
  EXPECT_EQ(pool_.depth(), 2u);
  EXPECT_FALSE(pool_.Submit([](double) {}));
}

TEST_F(WorkerPoolTest, AWithdrawnTaskNeverRunsAndFreesItsPlace) {
  Occupy();
  std::atomic<bool> ran = false;
  const auto id = pool_.Submit([&](double) { ran = true; });
  ASSERT_TRUE(pool_.Submit([](double) {}));
  EXPECT_TRUE(pool_.Withdraw(*id));
  EXPECT_FALSE(pool_.Withdraw(*id));
  std::promise<void> last;
  ASSERT_TRUE(pool_.Submit([&](double) { last.set_value(); }));
  Release();
  last.get_future().wait();
  EXPECT_FALSE(ran);
}

TEST_F(WorkerPoolTest, ShutdownWaitsForWhatRunsAndDropsWhatWaits) {
  Occupy();
  std::atomic<bool> ran = false;
  ASSERT_TRUE(pool_.Submit([&](double) { ran = true; }));
  std::thread shutdown([this] { pool_.Shutdown(); });
  while (pool_.depth() != 0) std::this_thread::yield();
  Release();
  shutdown.join();
  EXPECT_FALSE(ran);
  EXPECT_FALSE(pool_.Submit([](double) {}));
}

}  // namespace
}  // namespace evenkeel::server
