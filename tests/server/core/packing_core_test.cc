#include "server/core/packing_core.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "server/core/sweeper.h"

namespace evenkeel::server {
namespace {

class PackingCoreTest : public testing::Test, public PlanObserver {
 protected:
  struct Running {
    PackingCore::Ticket ticket;
    std::future<std::pair<PackingEnd, std::string>> end;
  };

  Running Run(PackingCore::Work work) {
    auto promise = std::make_shared<std::promise<std::pair<PackingEnd, std::string>>>();
    Running running{nullptr, promise->get_future()};
    running.ticket =
        core_->Run(7, std::move(work), [promise](PackingEnd end, const std::string& fault) {
          promise->set_value({end, fault});
        });
    return running;
  }

  // Returns work that lasts until it is stopped.
  PackingCore::Work Endless() {
    return [this](const PackingCore::Stop& stop) {
      ++started_;
      while (!stop()) std::this_thread::yield();
      ++stopped_;
    };
  }
  void WaitForStarted(int count) const {
    while (started_ < count) std::this_thread::yield();
  }

  // A worker may still report to this object, which must be whole until the core is gone.
  void TearDown() override { core_.reset(); }

  void OnPacked(PackEnding ending, int64_t samples, double) override {
    EXPECT_EQ(samples, 7);
    ++endings_[static_cast<size_t>(ending)];
  }

  Clock clock_;
  std::atomic<int> started_ = 0, stopped_ = 0;
  std::atomic<int> endings_[3] = {};
  std::unique_ptr<PackingCore> core_ = std::make_unique<PackingCore>(1, 1, *this, clock_);
};

TEST_F(PackingCoreTest, WorkIsDoneOnAWorker) {
  std::thread::id id;
  auto running = Run([&](const PackingCore::Stop&) { id = std::this_thread::get_id(); });
  EXPECT_EQ(running.end.get().first, PackingEnd::kDone);
  EXPECT_NE(id, std::this_thread::get_id());
  EXPECT_EQ(endings_[static_cast<size_t>(PackEnding::kPacked)], 1);
}

TEST_F(PackingCoreTest, CancelAnswersAtOnceAndStopsTheWork) {
  auto running = Run(Endless());
  WaitForStarted(1);
  core_->Cancel(running.ticket);
  EXPECT_EQ(running.end.get().first, PackingEnd::kCancelled);
  core_->Cancel(running.ticket);  // a second call does nothing
  while (stopped_ < 1) std::this_thread::yield();
}

TEST_F(PackingCoreTest, CancelledBeforeItBeganItNeverDoes) {
  auto first = Run(Endless());
  WaitForStarted(1);
  const auto held = std::make_shared<int>(1);
  auto second = Run([held](const PackingCore::Stop&) {});
  EXPECT_EQ(held.use_count(), 2);
  core_->Cancel(second.ticket);
  EXPECT_EQ(second.end.get().first, PackingEnd::kCancelled);
  EXPECT_EQ(held.use_count(), 1);  // what it held is released
  auto third = Run(Endless());     // and so is its place
  auto fourth = Run(Endless());
  EXPECT_EQ(fourth.end.get().first, PackingEnd::kQueueFull);
  core_->Cancel(first.ticket);
  core_->Cancel(third.ticket);
}

TEST_F(PackingCoreTest, AnExceptionIsADefect) {
  auto running = Run([](const PackingCore::Stop&) { throw std::runtime_error("boom"); });
  EXPECT_EQ(running.end.get(), std::make_pair(PackingEnd::kDefect, std::string("exception: boom")));
  EXPECT_EQ(endings_[static_cast<size_t>(PackEnding::kDefect)], 1);
}

TEST_F(PackingCoreTest, ShutsDown) {
  auto running = Run(Endless());
  WaitForStarted(1);
  auto waiting = Run(Endless());
  core_->RefuseNewWork();
  EXPECT_TRUE(core_->refusing());
  core_->StopAll();
  EXPECT_EQ(Run(Endless()).end.get().first, PackingEnd::kShuttingDown);
  core_.reset();
  EXPECT_EQ(running.end.get().first, PackingEnd::kShuttingDown);
  EXPECT_EQ(waiting.end.get().first, PackingEnd::kShuttingDown);
  EXPECT_EQ(started_, 1);
}

class Counted : public Swept {
 public:
  void OnSweep() override { ++sweeps; }
  std::atomic<int> sweeps = 0;
};

// Waits until there are that many sweeps, for at most ten seconds.
bool Reaches(const std::atomic<int>& sweeps, int count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (sweeps < count && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return sweeps >= count;
}

TEST(Sweeper, SweepsWhatLives) {
  Sweeper sweeper(std::chrono::milliseconds(1));
  const auto one = std::make_shared<Counted>();
  auto gone = std::make_shared<Counted>();
  sweeper.Add(one);
  sweeper.Add(gone);
  EXPECT_TRUE(Reaches(gone->sweeps, 2));
  const std::weak_ptr<Counted> watched = gone;
  gone.reset();
  const int before = one->sweeps;
  EXPECT_TRUE(Reaches(one->sweeps, before + 2));
  EXPECT_TRUE(watched.expired());  // the sweeper does not keep it
}

}  // namespace
}  // namespace evenkeel::server
