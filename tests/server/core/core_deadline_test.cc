// Tests the core with deadlines, its own time limit, and several clients.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/core/planning_core.h"
#include "tests/server/core/planning_core_fixture.h"

namespace evenkeel::server {
namespace {

// A clock that is set by hand.
class HandClock : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override {
    return std::chrono::steady_clock::time_point() + std::chrono::milliseconds(milliseconds_);
  }
  void Turn(int64_t milliseconds) { milliseconds_ += milliseconds; }

 private:
  std::atomic<int64_t> milliseconds_ = 1000;
};

class DeadlineTest : public testing::Test {
 protected:
  ~DeadlineTest() override { planner_.hold = false; }

  PlanningCore::Ticket Plan(const std::string& id, WorkTerms terms = {}) {
    return core_.Plan({"", id, std::nullopt}, planner_.work(id), answers_.Next(), terms);
  }
  WorkTerms In(int64_t milliseconds, const std::string& client = "", double cost = 0) {
    return {.client = client,
            .deadline = clock_.Now() + std::chrono::milliseconds(milliseconds),
            .cost_seconds = cost};
  }

  HandClock clock_;
  FakePlanner planner_;
  CountingObserver observer_;
  PlanCache cache_{1 << 20, 1};
  Answers answers_;
  PlanningCore core_{{1, 3, 30}, cache_, observer_, clock_};
};

TEST_F(DeadlineTest, WorkStopsWhenItsDeadlineHasPassed) {
  planner_.hold = true;
  Plan("a", In(50));
  planner_.WaitForStarted(1);
  clock_.Turn(51);
  EXPECT_EQ(answers_.WaitFor(1).at(0).kind, OutcomeKind::kExpired);
  EXPECT_EQ(planner_.stopped, 1);
}

TEST_F(DeadlineTest, WorkGoesOnForWhoeverHasTime) {
  planner_.hold = true;
  Plan("a", In(50));
  Plan("a", In(5000));
  planner_.WaitForStarted(1);
  clock_.Turn(1000);
  planner_.hold = false;
  for (const PlanOutcome& outcome : answers_.WaitFor(2))
    EXPECT_EQ(outcome.kind, OutcomeKind::kPlan);
  EXPECT_EQ(planner_.stopped, 0);
}

TEST_F(DeadlineTest, QueuedWorkWhoseDeadlineHasPassedNeverBegins) {
  planner_.hold = true;
  Plan("a");
  planner_.WaitForStarted(1);
  Plan("b", In(50));
  Plan("c", In(5000));
  clock_.Turn(100);
  planner_.hold = false;
  const auto all = answers_.WaitFor(3);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].kind, OutcomeKind::kExpired);
  EXPECT_EQ(all[2].kind, OutcomeKind::kPlan);
  EXPECT_EQ(planner_.started, 2);
  EXPECT_EQ(observer_.expired, 1);
}

TEST_F(DeadlineTest, NoComputationTakesLongerThanTheServerAllows) {
  planner_.hold = true;
  Plan("a");
  planner_.WaitForStarted(1);
  clock_.Turn(29'999);
  EXPECT_EQ(answers_.count(), 0u);
  clock_.Turn(2);
  const auto all = answers_.WaitFor(1);
  EXPECT_EQ(all.at(0).kind, OutcomeKind::kTimeLimit);
  EXPECT_EQ(all[0].limit_seconds, 30);
  EXPECT_EQ(observer_.endings[static_cast<int>(PlanEnding::kTimeLimit)], 1);
}

// Ten plans show that each takes a second. Then two wait before the newcomer.
TEST_F(DeadlineTest, ADeadlineFarBelowTheWaitIsRefusedAtOnce) {
  for (int i = 0; i < 10; ++i) {
    planner_.hold = true;
    Plan("warm" + std::to_string(i), {.client = "a", .cost_seconds = 0.5});
    planner_.WaitForStarted(i + 1);
    clock_.Turn(1000);
    planner_.hold = false;
    answers_.WaitFor(i + 1);
  }
  planner_.hold = true;
  Plan("running", {.client = "a", .cost_seconds = 0.5});
  planner_.WaitForStarted(11);
  Plan("w1", {.client = "a", .cost_seconds = 0.5});
  Plan("w2", {.client = "a", .cost_seconds = 0.5});
  Plan("too short", In(600, "a", 0.5));  // 0.6 s, while the wait is 2 s
  const auto all = answers_.WaitFor(11);
  ASSERT_EQ(all.size(), 11u);
  EXPECT_EQ(all[10].kind, OutcomeKind::kDeadlineTooShort);
  EXPECT_GE(all[10].retry_after_seconds, 0.1);
  EXPECT_EQ(observer_.too_short, 1);
  Plan("may do", In(700, "a", 0.5));     // not far enough below the wait
  Plan("another's", In(100, "b", 0.5));  // a client with nothing waiting gets its turn, and a place
  EXPECT_EQ(observer_.too_short, 1);
  EXPECT_EQ(observer_.displaced, 1);
  EXPECT_EQ(core_.queue_depth(), 3u);
}

TEST_F(DeadlineTest, WhoeverHasMostGivesWayAndIsTold) {
  planner_.hold = true;
  Plan("running", {.client = "a"});
  planner_.WaitForStarted(1);
  for (const char* id : {"a1", "a2", "a3"}) Plan(id, {.client = "a"});
  Plan("a4", {.client = "a"});
  EXPECT_EQ(answers_.WaitFor(1).at(0).kind, OutcomeKind::kQueueFull);
  EXPECT_EQ(observer_.full, 1);
  Plan("b1", {.client = "b"});
  const auto all = answers_.WaitFor(2);
  EXPECT_EQ(all.at(1).kind, OutcomeKind::kQueueFull);
  EXPECT_GE(all[1].retry_after_seconds, 0.1);
  EXPECT_EQ(observer_.displaced, 1);
  planner_.hold = false;
  answers_.WaitFor(6);
  EXPECT_EQ(planner_.started, 4);  // running, a1, a2 and b1
  Plan("a3", {.client = "a"});     // its flight is gone, so it is computed again
  EXPECT_EQ(answers_.WaitFor(7).at(6).kind, OutcomeKind::kPlan);
}

// A client that floods with ten jobs for each job of another one leaves the other its share: they
// alternate.
TEST_F(DeadlineTest, ClientsAreServedInTurn) {
  std::vector<std::string> order;
  std::mutex mutex;
  planner_.hold = true;
  PlanningCore core({1, 100, 30}, cache_, observer_, clock_);
  core.Plan({"", "running", std::nullopt}, planner_.work("running"), answers_.Next(),
            {.client = "a"});
  planner_.WaitForStarted(1);
  const auto plan = [&](const std::string& client, int i) {
    core.Plan({"", client + std::to_string(i), std::nullopt},
              planner_.work(client + std::to_string(i)),
              [&, client](const PlanOutcome& outcome) {
                const std::lock_guard lock(mutex);
                if (outcome.kind == OutcomeKind::kPlan) order.push_back(client);
                answers_.Next()(outcome);
              },
              {.client = client, .cost_seconds = 0.1});
  };
  for (int i = 0; i < 50; ++i) plan("a", i);
  for (int i = 0; i < 5; ++i) plan("b", i);
  planner_.hold = false;
  answers_.WaitFor(56);
  ASSERT_EQ(order.size(), 55u);
  EXPECT_EQ(std::count(order.begin(), order.begin() + 10, "b"), 5);
}

}  // namespace
}  // namespace evenkeel::server
