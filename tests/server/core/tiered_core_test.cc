// Tests the core over tiers below memory, and with plans that must not be too old.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/core/lower_tiers.h"
#include "server/core/planning_core.h"
#include "tests/server/core/planning_core_fixture.h"

namespace evenkeel::server {
namespace {

using std::chrono_literals::operator""s;

// Tiers below memory that answer when told to.
class FakeTiers : public LowerTiers {
 public:
  void Find(const std::string& tenant, const std::string& plan_id, PlanTime oldest,
            OnFound done) override {
    std::unique_lock lock(mutex_);
    ++finds_;
    waiting_.push_back([this, key = ScopedId(tenant, plan_id), oldest, done = std::move(done)] {
      StoredPlanPtr plan;
      {
        const std::lock_guard held(mutex_);
        const auto found = plans_.find(key);
        if (found != plans_.end() && found->second->create_time >= oldest) plan = found->second;
      }
      done({plan, PlanTier::kShared});
    });
    lock.unlock();
    if (!hold) Answer();
  }
  void Put(StoredPlanPtr plan) override {
    const std::lock_guard lock(mutex_);
    plans_[plan->key()] = std::move(plan);
  }
  void Answer() {
    std::unique_lock lock(mutex_);
    const auto waiting = std::exchange(waiting_, {});
    lock.unlock();
    for (const auto& one : waiting) one();
  }
  int finds() {
    const std::lock_guard lock(mutex_);
    return finds_;
  }
  size_t plans() {
    const std::lock_guard lock(mutex_);
    return plans_.size();
  }

  std::atomic<bool> hold = false;

 private:
  std::mutex mutex_;
  int finds_ = 0;
  std::vector<std::function<void()>> waiting_;
  std::map<std::string, StoredPlanPtr> plans_;
};

class TieredCoreTest : public PlanningCoreTest {
 protected:
  // The core of a second process that shares the tiers.
  struct Replica {
    explicit Replica(TieredCoreTest& test)
        : core({1, 1}, cache, test.observer_, test.clock_, &test.tiers_) {}
    PlanCache cache{1 << 20, 2};
    PlanningCore core;
  };

  FakeTiers tiers_;
  PlanningCore tiered_{{1, 1}, cache_, observer_, clock_, &tiers_};
};

TEST_F(TieredCoreTest, WhatOneReplicaPlannedTheOthersFind) {
  tiered_.Plan({"t", "a", std::nullopt}, planner_.work("a"), answers_.Next());
  EXPECT_EQ(answers_.WaitFor(1)[0].tier, PlanTier::kPlanner);
  while (tiers_.plans() == 0) std::this_thread::yield();
  Replica other(*this);
  other.core.Plan({"t", "a", std::nullopt}, planner_.work("a"), answers_.Next());
  EXPECT_EQ(answers_.WaitFor(2)[1].tier, PlanTier::kShared);
  other.core.Plan({"t", "a", std::nullopt}, planner_.work("a"), answers_.Next());
  EXPECT_EQ(answers_.WaitFor(3)[2].tier, PlanTier::kMemory);
  EXPECT_EQ(planner_.started, 1);
  // Another tenant's plan of the same id is another plan.
  other.core.Plan({"u", "a", std::nullopt}, planner_.work("a"), answers_.Next());
  EXPECT_EQ(answers_.WaitFor(4)[3].tier, PlanTier::kPlanner);
}

TEST_F(TieredCoreTest, EqualRequestsShareALookUp) {
  tiers_.hold = true;
  for (int i = 0; i < 10; ++i)
    tiered_.Plan({"", "a", std::nullopt}, planner_.work("a"), answers_.Next());
  EXPECT_EQ(tiers_.finds(), 1);
  EXPECT_EQ(answers_.count(), 0u);
  tiers_.Answer();
  EXPECT_EQ(answers_.WaitFor(10).size(), 10u);
  EXPECT_EQ(planner_.started, 1);
}

TEST_F(TieredCoreTest, NobodyWaitsAnyMoreWhenTheLookUpEnds) {
  tiers_.hold = true;
  const auto ticket = tiered_.Plan({"", "a", std::nullopt}, planner_.work("a"), answers_.Next());
  tiered_.Cancel(ticket);
  EXPECT_EQ(answers_.WaitFor(1)[0].kind, OutcomeKind::kCancelled);
  tiers_.Answer();
  EXPECT_EQ(planner_.started, 0);
}

TEST_F(TieredCoreTest, StoppingAnswersThoseWhoLookUp) {
  tiers_.hold = true;
  tiered_.Plan({"", "a", std::nullopt}, planner_.work("a"), answers_.Next());
  tiered_.StopAll();
  EXPECT_EQ(answers_.WaitFor(1)[0].kind, OutcomeKind::kShuttingDown);
  tiers_.Answer();
  EXPECT_EQ(planner_.started, 0);
  EXPECT_EQ(answers_.count(), 1u);
}

TEST_F(TieredCoreTest, AFullQueueIsSaidAfterTheLookUp) {
  planner_.hold = true;
  for (const char* id : {"a", "b"})
    tiered_.Plan({"", id, std::nullopt}, planner_.work(id), answers_.Next());
  planner_.WaitForStarted(1);
  tiers_.hold = true;
  tiered_.Plan({"", "c", std::nullopt}, planner_.work("c"), answers_.Next());
  tiered_.Plan({"", "d", std::nullopt}, planner_.work("d"), answers_.Next());
  EXPECT_EQ(answers_.count(), 0u);
  tiers_.Answer();
  EXPECT_GE(answers_.WaitFor(1)[0].retry_after_seconds, 0.1);
  EXPECT_EQ(answers_.WaitFor(1)[0].kind, OutcomeKind::kQueueFull);
  planner_.hold = false;
}

TEST_F(TieredCoreTest, AgeAndAnewAreRespectedByEveryTier) {
  struct Hands : Clock {
    std::chrono::system_clock::time_point WallNow() const override { return now; }
    std::chrono::system_clock::time_point now{std::chrono::hours(24 * 365 * 50)};
  } hands;
  PlanCache cache(1 << 20, 3);
  PlanningCore core({1, 1}, cache, observer_, hands, &tiers_);
  size_t count = 0;
  const auto tier = [&](std::optional<double> max_age) {
    core.Plan({"", "a", max_age}, planner_.work("a"), answers_.Next());
    ++count;
    return answers_.WaitFor(count)[count - 1].tier;
  };
  EXPECT_EQ(tier(std::nullopt), PlanTier::kPlanner);
  hands.now += 100s;
  EXPECT_EQ(tier(99.0), PlanTier::kPlanner);  // and it is new again
  EXPECT_EQ(tier(99.0), PlanTier::kMemory);
  hands.now += 10s;
  EXPECT_EQ(tier(10.0), PlanTier::kMemory);
  EXPECT_EQ(tier(9.9), PlanTier::kPlanner);
  EXPECT_EQ(tier(0.0), PlanTier::kPlanner);
  EXPECT_EQ(tier(std::nullopt), PlanTier::kMemory);
  EXPECT_EQ(tier(1e10), PlanTier::kMemory);
  EXPECT_EQ(planner_.started, 4);
}

}  // namespace
}  // namespace evenkeel::server
