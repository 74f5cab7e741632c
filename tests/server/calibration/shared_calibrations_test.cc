// Simulates replicas that share a store, on one thread. Every step of one may happen inside a step
// of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/calibration/calibrations.h"
#include "tests/planner/profiles.h"

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class TurnedClock : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override { return now; }
  std::chrono::steady_clock::time_point now{1h};
};

class SeenShared : public CalibrationObserver {
 public:
  void OnConflict() override { ++conflicts; }
  void OnStoreError() override { ++store_errors; }
  void OnFollow(FollowEnding ending) override { ++follows[static_cast<size_t>(ending)]; }
  int conflicts = 0, store_errors = 0;
  int follows[kFollowEndings] = {};
};

struct SharedLog {
  std::vector<ProfileRecord> records;
  std::string fault;     // fault of reading
  bool damaged = false;  // used with `fault`
  bool loses_replies = false;
};

// Calls `meanwhile` before and after each access, at the points where others may act.
class SharedStore : public ProfileStore {
 public:
  SharedStore(SharedLog& log, std::function<void()> meanwhile)
      : log_(log), meanwhile_(std::move(meanwhile)) {}
  std::vector<ProfileRecord> TakeHistory() override { return log_.records; }
  bool durable() const override { return true; }
  bool shared() const override { return true; }

  NewRecords ReadAfter(int64_t revision, bool /*patient*/) override {
    meanwhile_();
    NewRecords found{.complete = log_.fault.empty(), .error = log_.fault, .damaged = log_.damaged};
    if (found.complete) {
      found.records.assign(log_.records.begin() + revision, log_.records.end());
    }
    meanwhile_();
    return found;
  }

  AppendResult Append(const ProfileRecord& record) override {
    meanwhile_();
    if (record.revision != static_cast<int64_t>(log_.records.size()) + 1) {
      return {.error = "conflict", .conflict = true};
    }
    log_.records.push_back(record);
    const bool lost = log_.loses_replies;
    meanwhile_();
    if (lost) return {.error = "no reply", .unknown = true};
    return {.revision = record.revision};
  }

 private:
  SharedLog& log_;
  const std::function<void()> meanwhile_;
};

ProfileUpload Upload(int number) {
  ProfileUpload upload;
  upload.facts.profile = planner::QuickstartProfile();
  planner::AddLayerTime(upload.facts.profile, planner::LayerKind::kDense, planner::kText,
                        1.2 + 0.0001 * number);
  upload.facts.digest = "number " + std::to_string(number);
  return upload;
}

class SharedCalibrationsTest : public testing::Test {
 protected:
  // Calls a copy, because the callee may replace the function.
  void Meanwhile() const {
    const std::function<void()> now = meanwhile_;
    now();
  }
  std::unique_ptr<Calibrations> Open() {
    std::string error;
    auto opened = Calibrations::Open(std::make_unique<SharedStore>(log_, [this] { Meanwhile(); }),
                                     clock_, seen_, &error,
                                     [this](auto due) { clock_.now = std::max(clock_.now, due); });
    EXPECT_NE(opened, nullptr) << error;
    return opened;
  }

  SharedLog log_;
  TurnedClock clock_;
  SeenShared seen_;
  std::function<void()> meanwhile_ = [] {};
};

TEST_F(SharedCalibrationsTest, AReplicaCatchesUp) {
  const auto a = Open(), b = Open();
  EXPECT_EQ(a->Record(Upload(1)).revision, 1);
  EXPECT_EQ(b->state()->newest(), 0);
  EXPECT_FALSE(b->state()->confirmed(clock_.Now()));  // the acknowledgement waited for that
  EXPECT_EQ(b->CatchUp(), "");
  EXPECT_EQ(b->state()->newest(), 1);
  EXPECT_TRUE(b->state()->confirmed(clock_.Now()));
  EXPECT_EQ(b->state()
                ->book.For(planner::QuickstartJob().model, planner::QuickstartJob().cluster.gpu)
                .version,
            a->state()
                ->book.For(planner::QuickstartJob().model, planner::QuickstartJob().cluster.gpu)
                .version);
}

TEST_F(SharedCalibrationsTest, AnAcknowledgementWaitsForTheLease) {
  const auto a = Open();
  const auto before = clock_.Now();
  a->Record(Upload(1));
  EXPECT_EQ(clock_.Now() - before, kLease + kLeaseMargin);
  a->Record(Upload(1));  // known for a long time
  EXPECT_EQ(clock_.Now() - before, kLease + kLeaseMargin);
  const auto b = Open();
  const auto opened = clock_.Now();
  EXPECT_TRUE(b->Record(Upload(1)).already_recorded);  // b knows it only from now on
  EXPECT_EQ(clock_.Now() - opened, kLease + kLeaseMargin);
}

TEST_F(SharedCalibrationsTest, WhatIsReplacedIsNeverConfirmedAgain) {
  const auto a = Open(), b = Open();
  a->Record(Upload(1));
  const CalibrationStatePtr old = b->state();  // a call that has begun
  EXPECT_EQ(b->CatchUp(), "");
  EXPECT_FALSE(old->confirmed(clock_.Now()));
}

TEST_F(SharedCalibrationsTest, ALeaseCountsFromTheQuestion) {
  const auto a = Open();
  clock_.now += 1s;
  EXPECT_NEAR(*a->state()->lease.UnconfirmedSeconds(clock_.Now()), 0.7, 1e-9);
  meanwhile_ = [&] { clock_.now += 100ms; };  // before and after the answer
  EXPECT_EQ(a->CatchUp(), "");
  clock_.now += 99ms;
  EXPECT_TRUE(a->state()->confirmed(clock_.Now()));
  clock_.now += 1ms;
  EXPECT_FALSE(a->state()->confirmed(clock_.Now()));
}

TEST_F(SharedCalibrationsTest, AConflictIsJudgedAgain) {
  const auto a = Open(), b = Open();
  int calls = 0;
  meanwhile_ = [&] {
    if (++calls != 3) return;  // a is about to append; the first two calls were the question's
    meanwhile_ = [] {};
    EXPECT_EQ(b->Record(Upload(2)).revision, 1);
  };
  EXPECT_EQ(a->Record(Upload(1)).revision, 2);
  EXPECT_EQ(seen_.conflicts, 1);
  EXPECT_EQ(seen_.store_errors, 0);
}

TEST_F(SharedCalibrationsTest, ALostReplyIsNoAcknowledgement) {
  const auto a = Open();
  log_.loses_replies = true;
  const RecordOutcome lost = a->Record(Upload(1));
  EXPECT_EQ(lost.store_error, "no reply");
  EXPECT_TRUE(lost.store_unknown);
  log_.loses_replies = false;
  const RecordOutcome again = a->Record(Upload(1));  // a retry finds it
  EXPECT_TRUE(again.already_recorded);
  EXPECT_EQ(again.revision, 1);
}

TEST_F(SharedCalibrationsTest, AStoreThatCanNotBeReadIsNotWritten) {
  const auto a = Open();
  a->Record(Upload(1));
  log_.fault = "is damaged";
  log_.damaged = true;
  EXPECT_EQ(a->Record(Upload(2)).store_error, "is damaged");
  EXPECT_EQ(a->TakeBack({.target = 0}).store_error, "is damaged");
  EXPECT_EQ(log_.records.size(), 1u);
  EXPECT_EQ(a->CatchUp(), "is damaged");
  EXPECT_EQ(a->state()->newest(), 1);  // the last good revision
  clock_.now += kLease;
  EXPECT_FALSE(a->state()->confirmed(clock_.Now()));
  EXPECT_EQ(seen_.follows[static_cast<size_t>(FollowEnding::kDamaged)], 3);
  log_.fault = "";
  EXPECT_EQ(a->CatchUp(), "");
  EXPECT_TRUE(a->state()->confirmed(clock_.Now()));
}

TEST_F(SharedCalibrationsTest, WhatANewerReleaseWroteIsNotSkipped) {
  const auto a = Open(), b = Open();
  a->Record(Upload(1));
  ProfileRecord strange;
  strange.revision = 2;
  strange.profile = "\xff\xff";
  log_.records.push_back(strange);
  EXPECT_THAT(b->CatchUp(), HasSubstr("revision 2 holds no profile"));
  EXPECT_EQ(b->state()->newest(), 1);
  EXPECT_FALSE(b->state()->confirmed(clock_.Now()));
}

TEST_F(SharedCalibrationsTest, CatchesUpToARevisionWithOneQuestion) {
  const auto a = Open(), b = Open();
  a->Record(Upload(1));
  const int asked = seen_.follows[0];
  EXPECT_TRUE(b->CatchUpTo(1, clock_.Now() + 1ns));
  EXPECT_EQ(seen_.follows[0], asked + 1);
  EXPECT_TRUE(b->CatchUpTo(1, clock_.Now() + 1ns));
  EXPECT_FALSE(b->CatchUpTo(2, clock_.Now() - 1ns));  // it was asked after that call came
  EXPECT_EQ(seen_.follows[0], asked + 1);
  EXPECT_FALSE(b->CatchUpTo(2, clock_.Now() + 1ns));
  EXPECT_EQ(seen_.follows[0], asked + 2);
}

TEST_F(SharedCalibrationsTest, AThreadFollowsAndReportsEachFaultOnce) {
  const auto a = Open();
  log_.fault = "is down";
  std::mutex mutex;
  std::vector<std::string> reports;
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return reports.size();
  };
  std::atomic<int> questions = 0;
  meanwhile_ = [&] { ++questions; };
  a->Follow(1ms, [&](const std::string& fault) {
    const std::lock_guard lock(mutex);
    reports.push_back(fault);
  });
  while (questions < 10) std::this_thread::yield();
  EXPECT_EQ(count(), 1u);
}

// Three replicas. Whatever happens, in any order, no call that begins after an acknowledgement sees
// an older state that a replica vouches for.
class Model {
 public:
  Model(uint32_t seed, bool waits) : random_(seed), waits_(waits) {
    for (auto& replica : replicas_) Open(&replica);
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) Step();
  }

  int violations = 0, confirmed = 0, unconfirmed = 0, acknowledged = 0, conflicts = 0;

 private:
  struct Replica {
    std::unique_ptr<Calibrations> calibrations;
    SeenShared seen;
    bool busy = false;  // inside its store
  };

  // Starts a replica. A store that is down prevents the start, which is then repeated.
  void Open(Replica* replica) {
    while (replica->calibrations == nullptr) {
      std::string error;
      auto store = std::make_unique<SharedStore>(log_, [this, replica] {
        const bool was_busy = std::exchange(replica->busy, true);
        Meanwhile();
        replica->busy = was_busy;
      });
      replica->calibrations =
          Calibrations::Open(std::move(store), clock_, replica->seen, &error, [this](auto due) {
            while (waits_ && clock_.now < due) Step();
          });
    }
  }

  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

  bool IsFree(const Replica& replica) const {
    return replica.calibrations != nullptr && !replica.busy && depth_ <= 3;
  }

  void Meanwhile() {
    for (int i = Draw(3); i > 0; --i) Step();
  }

  void Step() {
    Replica& replica = replicas_[Draw(3)];
    Look();
    switch (Draw(12)) {
      case 0:
        if (!IsFree(replica) || log_.records.size() >= 12) break;
        ++depth_;
        Change(replica);
        --depth_;
        break;
      case 1:
      case 2:
      case 3:
        if (!IsFree(replica)) break;
        ++depth_;
        (void)replica.calibrations->CatchUp();
        --depth_;
        break;
      case 4:
        log_.fault = log_.fault.empty() && Draw(3) == 0 ? "down" : "";
        log_.loses_replies = Draw(4) == 0;
        break;
      default:
        clock_.now += std::chrono::milliseconds(Draw(60));
    }
  }

  void Change(Replica& replica) {
    int64_t revision = 0;
    const int before = replica.seen.conflicts;
    if (Draw(4) == 0) {
      const RollBackOutcome outcome = replica.calibrations->TakeBack({.target = Draw(3)});
      if (outcome.store_error.empty()) revision = outcome.revision;
    } else {
      const RecordOutcome outcome = replica.calibrations->Record(Upload(Draw(8)));
      if (outcome.store_error.empty()) revision = outcome.revision;
    }
    conflicts += replica.seen.conflicts - before;
    acknowledged += revision > 0 ? 1 : 0;
    newest_acknowledged_ = std::max(newest_acknowledged_, revision);
  }

  // Makes a call at each replica.
  void Look() {
    for (const Replica& replica : replicas_) {
      if (replica.calibrations == nullptr) continue;
      const CalibrationStatePtr state = replica.calibrations->state();
      if (!state->confirmed(clock_.Now())) {
        ++unconfirmed;
        continue;
      }
      ++confirmed;
      violations += state->newest() < newest_acknowledged_ ? 1 : 0;
    }
  }

  std::mt19937 random_;
  const bool waits_;
  SharedLog log_;
  TurnedClock clock_;
  Replica replicas_[3];
  int depth_ = 0;
  int64_t newest_acknowledged_ = 0;
};

TEST(LeaseModelTest, NothingOlderIsVouchedForAfterAnAcknowledgement) {
  int confirmed = 0, unconfirmed = 0, acknowledged = 0, conflicts = 0, violations_without = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Model model(seed, /*waits=*/true);
    model.Run(400);
    ASSERT_EQ(model.violations, 0) << "seed " << seed;
    confirmed += model.confirmed;
    unconfirmed += model.unconfirmed;
    acknowledged += model.acknowledged;
    conflicts += model.conflicts;
    // Shows that the check can fail: without the wait, it does.
    Model hasty(seed, /*waits=*/false);
    hasty.Run(100);
    violations_without += hasty.violations;
  }
  EXPECT_GT(confirmed, 1000);
  EXPECT_GT(unconfirmed, 1000);
  EXPECT_GT(acknowledged, 1000);
  EXPECT_GT(conflicts, 20);
  EXPECT_GT(violations_without, 100);
}

}  // namespace
}  // namespace evenkeel::server
