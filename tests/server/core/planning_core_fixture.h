// A planning core with a planner that tests can block.
#ifndef EVENKEEL_TESTS_SERVER_CORE_PLANNING_CORE_FIXTURE_H_
#define EVENKEEL_TESTS_SERVER_CORE_PLANNING_CORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "server/core/planning_core.h"

namespace evenkeel::server {

// Collects outcomes and waits for them.
class Answers {
 public:
  OnOutcome Next() {
    return [this](const PlanOutcome& outcome) {
      const std::lock_guard lock(mutex_);
      outcomes_.push_back(outcome);
      changed_.notify_all();
    };
  }
  std::vector<PlanOutcome> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return outcomes_.size() >= count; });
    return outcomes_;
  }
  size_t count() {
    const std::lock_guard lock(mutex_);
    return outcomes_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PlanOutcome> outcomes_;
};

// A planner whose computations last until they are released or stopped.
class FakePlanner {
 public:
  Work work(const std::string& id) {
    return [this, id](const planner::PlanHooks& hooks) {
      WorkResult result;
      result.end = Compute(id, hooks, &result.computed, &result.faults);
      return result;
    };
  }
  void WaitForStarted(int count) const {
    while (started < count) std::this_thread::yield();
  }

  std::atomic<bool> hold = false;
  std::atomic<int> started = 0;
  std::atomic<int> stopped = 0;

 private:
  ComputeEnd Compute(const std::string& id, const planner::PlanHooks& hooks, ComputedPlan* out,
                     std::vector<std::string>* faults) {
    ++started;
    hooks.enter(planner::Phase::kSearch);
    while (hold && !hooks.stop()) std::this_thread::yield();
    if (hooks.stop()) {
      ++stopped;
      return ComputeEnd::kStopped;
    }
    if (id == "throws") throw std::runtime_error("boom");
    if (id == "defect") {
      faults->push_back("stage 1 is wrong");
      return ComputeEnd::kDefect;
    }
    out->plan_bytes = "plan of " + id;
    out->facts.fits = true;
    return ComputeEnd::kDone;
  }
};

struct CountingObserver : PlanObserver {
  void OnJoined() override { ++joined; }
  void OnShed(ShedReason reason) override {
    switch (reason) {
      case ShedReason::kQueueFull:
        ++full;
        break;
      case ShedReason::kDisplaced:
        ++displaced;
        break;
      case ShedReason::kDeadlineTooShort:
        ++too_short;
        break;
      case ShedReason::kExpired:
        ++expired;
        break;
      default:
        ++draining;
    }
  }
  void OnComputed(PlanEnding ending) override { ++endings[static_cast<int>(ending)]; }
  void OnPhase(planner::Phase phase, double) override {
    if (phase == planner::Phase::kSearch) ++searches;
  }
  std::atomic<int> joined = 0, full = 0, draining = 0, searches = 0;
  std::atomic<int> displaced = 0, too_short = 0, expired = 0;
  std::atomic<int> endings[kPlanEndings] = {};
};

class PlanningCoreTest : public testing::Test {
 protected:
  ~PlanningCoreTest() override { planner_.hold = false; }

  PlanningCore::Ticket Plan(const std::string& id) {
    return core_.Plan({"", id, std::nullopt}, planner_.work(id), answers_.Next());
  }

  Clock clock_;
  FakePlanner planner_;
  CountingObserver observer_;
  PlanCache cache_{1 << 20, 1};
  Answers answers_;
  PlanningCore core_{{1, 1}, cache_, observer_, clock_};
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_CORE_PLANNING_CORE_FIXTURE_H_
