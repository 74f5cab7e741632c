#include "server/core/planning_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/core/planning_core_fixture.h"

namespace evenkeel::server {
namespace {

TEST_F(PlanningCoreTest, ComputesOnceAndThenServesFromMemory) {
  Plan("a");
  const auto first = answers_.WaitFor(1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].kind, OutcomeKind::kPlan);
  EXPECT_EQ(first[0].plan->plan_bytes, "plan of a");
  EXPECT_EQ(first[0].tier, PlanTier::kPlanner);
  Plan("a");
  const auto second = answers_.WaitFor(2);
  EXPECT_EQ(second[1].tier, PlanTier::kMemory);
  EXPECT_EQ(second[1].plan, second[0].plan);
  EXPECT_EQ(planner_.started, 1);
  EXPECT_EQ(observer_.searches, 1);
}

TEST_F(PlanningCoreTest, OutcomesHaveTheStepsThatLedToThem) {
  Plan("a");
  const PlanStepsPtr steps = answers_.WaitFor(1).at(0).steps;
  ASSERT_NE(steps, nullptr);
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_STREQ(steps->at(0).name, "queue");
  EXPECT_STREQ(steps->at(1).name, "search");
  EXPECT_LE(steps->at(0).from, steps->at(0).to);
  EXPECT_LE(steps->at(0).to, steps->at(1).from);
  EXPECT_LE(steps->at(1).from, steps->at(1).to);
  Plan("a");
  EXPECT_EQ(answers_.WaitFor(2).at(1).steps, nullptr);  // it was known
}

TEST_F(PlanningCoreTest, HundredEqualRequestsAreOneComputation) {
  planner_.hold = true;
  std::vector<std::thread> callers;
  for (int i = 0; i < 100; ++i) callers.emplace_back([this] { Plan("a"); });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(observer_.joined, 99);
  planner_.hold = false;
  const auto all = answers_.WaitFor(100);
  ASSERT_EQ(all.size(), 100u);
  for (const PlanOutcome& outcome : all) EXPECT_EQ(outcome.plan, all[0].plan);
  EXPECT_EQ(planner_.started, 1);
}

TEST_F(PlanningCoreTest, ACancelledLeaderDoesNotHurtItsFollowers) {
  planner_.hold = true;
  const auto leader = Plan("a");
  Plan("a");
  planner_.WaitForStarted(1);
  core_.Cancel(leader);
  ASSERT_EQ(answers_.WaitFor(1).at(0).kind, OutcomeKind::kCancelled);
  planner_.hold = false;
  EXPECT_EQ(answers_.WaitFor(2).at(1).kind, OutcomeKind::kPlan);
  EXPECT_EQ(planner_.stopped, 0);
}

TEST_F(PlanningCoreTest, TheLastWaiterToCancelStopsTheComputation) {
  planner_.hold = true;
  const auto one = Plan("a");
  const auto two = Plan("a");
  planner_.WaitForStarted(1);
  core_.Cancel(one);
  EXPECT_EQ(planner_.stopped, 0);
  core_.Cancel(two);
  while (planner_.stopped == 0) std::this_thread::yield();
  EXPECT_EQ(answers_.WaitFor(2).at(1).kind, OutcomeKind::kCancelled);
  EXPECT_EQ(cache_.counters().entries, 0u);
}

TEST_F(PlanningCoreTest, NobodyJoinsAStoppedComputation) {
  planner_.hold = true;
  const auto first = Plan("a");
  planner_.WaitForStarted(1);
  core_.Cancel(first);
  Plan("a");
  planner_.WaitForStarted(2);
  planner_.hold = false;
  EXPECT_EQ(answers_.WaitFor(2).at(1).kind, OutcomeKind::kPlan);
}

TEST_F(PlanningCoreTest, CancelTwiceOrTooLateAnswersOnce) {
  const auto done = Plan("a");
  answers_.WaitFor(1);
  core_.Cancel(done);
  core_.Cancel({});
  planner_.hold = true;
  const auto waiting = Plan("b");
  core_.Cancel(waiting);
  core_.Cancel(waiting);
  EXPECT_EQ(answers_.count(), 2u);
}

TEST_F(PlanningCoreTest, AQueuedComputationWithoutWaitersNeverStarts) {
  planner_.hold = true;
  Plan("a");
  planner_.WaitForStarted(1);
  const auto queued = Plan("b");
  core_.Cancel(queued);
  EXPECT_EQ(core_.queue_depth(), 0u);  // its place is free at once
  Plan("c");
  planner_.hold = false;
  answers_.WaitFor(3);
  EXPECT_EQ(planner_.started, 2);
}

TEST_F(PlanningCoreTest, RefusesWhenTheQueueIsFullButStillJoins) {
  planner_.hold = true;
  Plan("a");
  planner_.WaitForStarted(1);
  Plan("b");
  Plan("c");
  const auto refused = answers_.WaitFor(1);
  ASSERT_EQ(refused.at(0).kind, OutcomeKind::kQueueFull);
  EXPECT_GE(refused[0].retry_after_seconds, 0.1);
  EXPECT_LE(refused[0].retry_after_seconds, 10);
  EXPECT_EQ(observer_.full, 1);
  Plan("b");
  EXPECT_EQ(observer_.joined, 1);
  planner_.hold = false;
  EXPECT_EQ(answers_.WaitFor(4).size(), 4u);
}

TEST_F(PlanningCoreTest, DefectsAreReportedAndNotStored) {
  Plan("defect");
  const auto first = answers_.WaitFor(1);
  EXPECT_EQ(first.at(0).kind, OutcomeKind::kDefect);
  EXPECT_EQ(first[0].faults, std::vector<std::string>{"stage 1 is wrong"});
  Plan("defect");
  EXPECT_EQ(answers_.WaitFor(2).at(1).kind, OutcomeKind::kDefect);
  EXPECT_EQ(planner_.started, 2);
  EXPECT_EQ(observer_.endings[static_cast<int>(PlanEnding::kDefect)], 2);
}

TEST_F(PlanningCoreTest, AnExceptionIsADefect) {
  Plan("throws");
  const auto all = answers_.WaitFor(1);
  EXPECT_EQ(all.at(0).kind, OutcomeKind::kDefect);
  EXPECT_EQ(all[0].faults, std::vector<std::string>{"exception: boom"});
}

TEST_F(PlanningCoreTest, DrainFinishesWhatRunsAndRefusesWhatIsNew) {
  Plan("known");
  answers_.WaitFor(1);
  planner_.hold = true;
  Plan("a");
  core_.RefuseNewWork();
  Plan("b");
  EXPECT_EQ(answers_.WaitFor(2).at(1).kind, OutcomeKind::kShuttingDown);
  Plan("known");
  EXPECT_EQ(answers_.WaitFor(3).at(2).kind, OutcomeKind::kPlan);
  planner_.hold = false;
  EXPECT_EQ(answers_.WaitFor(4).at(3).kind, OutcomeKind::kPlan);
  EXPECT_EQ(observer_.draining, 1);
}

TEST_F(PlanningCoreTest, DrainServesWhatArrivedBeforeIt) {
  const WorkTerms terms{.arrived = clock_.Now()};
  core_.RefuseNewWork();
  core_.Plan({"", "a", std::nullopt}, planner_.work("a"), answers_.Next(), terms);
  EXPECT_EQ(answers_.WaitFor(1).at(0).kind, OutcomeKind::kPlan);
  core_.StopAll();
  core_.Plan({"", "b", std::nullopt}, planner_.work("b"), answers_.Next(), terms);
  EXPECT_EQ(answers_.WaitFor(2).at(1).kind, OutcomeKind::kShuttingDown);
}

TEST_F(PlanningCoreTest, StopAllAnswersEveryWaiter) {
  planner_.hold = true;
  Plan("a");
  planner_.WaitForStarted(1);
  Plan("b");
  core_.StopAll();
  const auto all = answers_.WaitFor(2);
  ASSERT_EQ(all.size(), 2u);
  for (const PlanOutcome& outcome : all) EXPECT_EQ(outcome.kind, OutcomeKind::kShuttingDown);
}

// Returns work that is not a plan: an answer only for its waiters.
Work Answering(const std::string& bytes) {
  return [bytes](const planner::PlanHooks&) {
    WorkResult result;
    result.end = ComputeEnd::kDone;
    result.computed.plan_bytes = bytes;
    return result;
  };
}

TEST_F(PlanningCoreTest, OtherWorkIsNotKeptNorCountedAsAPlan) {
  core_.Compute("e", Answering("one"), answers_.Next());
  ASSERT_EQ(answers_.WaitFor(1).size(), 1u);
  core_.Compute("e", Answering("two"), answers_.Next());
  const auto outcomes = answers_.WaitFor(2);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].plan->plan_bytes, "one");
  EXPECT_EQ(outcomes[1].plan->plan_bytes, "two");
  EXPECT_EQ(outcomes[1].tier, PlanTier::kPlanner);
  EXPECT_EQ(cache_.counters().entries, 0u);
  for (const auto& ending : observer_.endings) EXPECT_EQ(ending, 0);
}

TEST_F(PlanningCoreTest, OtherWorkMayBeRefusedOrFail) {
  core_.Compute(
      "r",
      [](const planner::PlanHooks&) {
        return WorkResult{.end = ComputeEnd::kRefused,
                          .computed = {},
                          .faults = {},
                          .violations = {{"plan.stages", "are wrong"}}};
      },
      answers_.Next());
  const auto outcomes = answers_.WaitFor(1);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::kRefused);
  EXPECT_EQ(outcomes[0].violations.at(0).field, "plan.stages");
  core_.Compute(
      "t", [](const planner::PlanHooks&) -> WorkResult { throw std::runtime_error("boom"); },
      answers_.Next());
  EXPECT_EQ(answers_.WaitFor(2).back().kind, OutcomeKind::kDefect);
}

TEST_F(PlanningCoreTest, OtherWorkSharesTheQueueAndTheFlight) {
  planner_.hold = true;
  Plan("a");
  planner_.WaitForStarted(1);
  core_.Compute("e", Answering("one"), answers_.Next());
  const auto ticket = core_.Compute("e", Answering("one"), answers_.Next());
  EXPECT_EQ(observer_.joined, 1);
  core_.Compute("f", Answering("two"), answers_.Next());  // the queue has room for one
  EXPECT_EQ(answers_.WaitFor(1).back().kind, OutcomeKind::kQueueFull);
  core_.Cancel(ticket);
  EXPECT_EQ(answers_.WaitFor(2).back().kind, OutcomeKind::kCancelled);
  planner_.hold = false;
  const auto outcomes = answers_.WaitFor(4);
  ASSERT_EQ(outcomes.size(), 4u);
  EXPECT_EQ(outcomes.back().plan->plan_bytes, "one");
}

TEST_F(PlanningCoreTest, OffersAreKeptUnderTheirOwnIds) {
  const Work compare = [](const planner::PlanHooks&) {
    WorkResult result;
    result.end = ComputeEnd::kDone;
    result.computed.plan_bytes = "best";
    result.computed.left_out_bytes = "rest";
    for (const char* id : {"a", "b"}) {
      result.computed.offers.emplace_back();
      result.computed.offers.back().plan_id = id;
      result.computed.offers.back().plan_bytes = std::string("plan of ") + id;
    }
    result.computed.offers.back().in_answer = false;
    return result;
  };
  core_.Plan({"", "both", std::nullopt}, compare, answers_.Next());
  const StoredPlanPtr both = answers_.WaitFor(1)[0].plan;
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->plan_bytes, "best");
  EXPECT_EQ(both->left_out_bytes, "rest");
  ASSERT_EQ(both->offers.size(), 1u);
  EXPECT_EQ(both->offers[0], cache_.Find("a", PlanCache::Count::kNothing));
  EXPECT_EQ(cache_.Find("b", PlanCache::Count::kNothing)->plan_bytes, "plan of b");
  core_.Plan({"", "both", std::nullopt}, compare, answers_.Next());
  EXPECT_EQ(answers_.WaitFor(2)[1].tier, PlanTier::kMemory);
  EXPECT_EQ(answers_.WaitFor(2)[1].plan, both);
}

// Tickets outlive the work: what it held is released when it is done or will never begin.
TEST_F(PlanningCoreTest, WorkIsLetGoWhileItsTicketIsHeld) {
  const auto held = std::make_shared<int>(0);
  const auto work = [held](const planner::PlanHooks&) {
    WorkResult result;
    result.end = ComputeEnd::kDone;
    return result;
  };
  const auto done = core_.Compute("done", work, answers_.Next());
  answers_.WaitFor(1);
  planner_.hold = true;
  Plan("a");
  planner_.WaitForStarted(1);
  const auto withdrawn = core_.Compute("withdrawn", work, answers_.Next());
  core_.Cancel(withdrawn);
  EXPECT_EQ(answers_.WaitFor(2).back().kind, OutcomeKind::kCancelled);
  planner_.hold = false;
  answers_.WaitFor(3);
  for (int i = 0; i < 1000 && held.use_count() > 2; ++i) std::this_thread::yield();
  EXPECT_LE(held.use_count(), 2);  // our reference and that of `work` here
}

// An answer may ask for more work.
TEST_F(PlanningCoreTest, WorkMayFollowAPlanFromItsAnswer) {
  core_.Plan({"", "a", std::nullopt}, planner_.work("a"), [&](const PlanOutcome& outcome) {
    core_.Compute("after " + outcome.plan->plan_id, Answering("more"), answers_.Next());
  });
  const auto outcomes = answers_.WaitFor(1);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].plan->plan_id, "after a");
}

}  // namespace
}  // namespace evenkeel::server
