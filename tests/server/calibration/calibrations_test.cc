#include "server/calibration/calibrations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/planning/fingerprint.h"
#include "tests/planner/profiles.h"

namespace evenkeel::server {
namespace {

using planner::LayerKind;
using testing::ElementsAre;
using testing::HasSubstr;

// The disk that stores share which are opened one after the other.
struct Disk {
  std::vector<ProfileRecord> records;
  bool broken = false;
};

class FakeStore : public ProfileStore {
 public:
  explicit FakeStore(Disk& disk) : disk_(disk) {}
  std::vector<ProfileRecord> TakeHistory() override { return disk_.records; }
  AppendResult Append(const ProfileRecord& record) override {
    if (disk_.broken) return {0, "the disk is full"};
    disk_.records.push_back(record);
    disk_.records.back().revision = static_cast<int64_t>(disk_.records.size());
    return {disk_.records.back().revision, ""};
  }
  bool durable() const override { return true; }

 private:
  Disk& disk_;
};

class Seen : public CalibrationObserver {
 public:
  void OnProfile(ProfileEnding ending) override { ++endings[ending]; }
  void OnAccepted(MeasuredList list, int64_t count) override { accepted[list] += count; }
  void OnRefused(RefusedFor reason) override { ++refused[reason]; }
  void OnPredictionError(MeasuredList list, double before, double after) override {
    errors[list] = {before, after};
  }
  void OnStoreError() override { ++store_errors; }

  std::map<ProfileEnding, int> endings;
  std::map<MeasuredList, int64_t> accepted;
  std::map<RefusedFor, int> refused;
  std::map<MeasuredList, std::pair<double, double>> errors;
  int store_errors = 0;
};

class CalibrationsTest : public testing::Test {
 protected:
  CalibrationsTest() { Reopen(); }

  void Reopen() {
    std::string error;
    calibrations_ = Calibrations::Open(std::make_unique<FakeStore>(disk_), clock_, seen_, &error);
    ASSERT_NE(calibrations_, nullptr) << error;
  }

  static ProfileUpload Upload(const std::string& digest, std::vector<double> ratios) {
    ProfileUpload upload;
    upload.facts.profile = planner::QuickstartProfile();
    for (const double ratio : ratios) {
      planner::AddLayerTime(upload.facts.profile, LayerKind::kDense, planner::kText, ratio);
    }
    upload.facts.digest = digest;
    upload.author = "tester";
    return upload;
  }

  planner::Calibration InForce() const {
    const planner::Job job = planner::QuickstartJob();
    return calibrations_->state()->book.For(job.model, job.cluster.gpu);
  }

  double Ratio() const {
    const planner::Calibration calibration = InForce();
    return calibration.layers.empty() ? 1 : calibration.layers[0].forward.value;
  }

  Disk disk_;
  Clock clock_;
  Seen seen_;
  std::unique_ptr<Calibrations> calibrations_;
};

TEST_F(CalibrationsTest, WhatIsRecordedIsInForceAndSurvives) {
  const RecordOutcome outcome = calibrations_->Record(Upload("a", {1.2}));
  EXPECT_EQ(outcome.revision, 1);
  EXPECT_TRUE(outcome.durable);
  EXPECT_EQ(outcome.calibration.version, InForce().version);
  EXPECT_NEAR(outcome.before.layer_times.mean, 1 - 1 / 1.2, 1e-5);
  EXPECT_NEAR(outcome.after.layer_times.mean, 0, 1e-5);
  EXPECT_NEAR(Ratio(), 1.2, 1e-5);
  const std::string version = InForce().version;
  Reopen();
  EXPECT_EQ(InForce().version, version);
  EXPECT_EQ(seen_.endings[ProfileEnding::kRecorded], 1);
  EXPECT_EQ(seen_.accepted[MeasuredList::kLayerTimes], 1);
  EXPECT_NEAR(seen_.errors[MeasuredList::kLayerTimes].first, 1 - 1 / 1.2, 1e-5);
}

// A profile holds a whole model and GPU type, and the history is kept for good.
TEST_F(CalibrationsTest, TheHistoryHasEachProfileOnce) {
  calibrations_->Record(Upload("a", {1.2}));
  const CalibrationStatePtr before = calibrations_->state();
  EXPECT_EQ(before->history.at(0)->texts.digest.text(), "a");
  EXPECT_THAT(before->active, ElementsAre(true));
  EXPECT_EQ(before->active_profiles, 1);
  calibrations_->TakeBack({.is_remove = true, .target = 1});
  const CalibrationStatePtr after = calibrations_->state();
  EXPECT_THAT(after->active, ElementsAre(false, true));
  EXPECT_EQ(after->active_profiles, 0);
  EXPECT_EQ(after->history.at(0), before->history.at(0));
  EXPECT_EQ(after->history.capacity(), 2u);
}

TEST_F(CalibrationsTest, AuthorsAreShared) {
  const auto recorded = [&](const char* digest, const std::string& author) {
    ProfileUpload upload = Upload(digest, {1.2});
    upload.author = author;
    calibrations_->Record(upload);
    return calibrations_->state()->history.back()->author;
  };
  const planner::SharedValue<std::string> first = recorded("a", "one");
  EXPECT_EQ(&*recorded("b", "one"), &*first);
  EXPECT_NE(&*recorded("c", "two"), &*first);
}

TEST_F(CalibrationsTest, ProfilesOfOneSubjectShareIt) {
  const auto subject = [&](size_t i) {
    const planner::MeasuredProfile& profile = calibrations_->state()->history.at(i)->profile();
    return std::pair(&*profile.model, &*profile.gpu);
  };
  calibrations_->Record(Upload("a", {1.2}));
  calibrations_->Record(Upload("b", {1.3}));
  ProfileUpload other = Upload("c", {1.2});
  other.facts.profile.model = planner::TextJob("llama3-8b", "a100-sxm-80gb", 8).model;
  calibrations_->Record(other);
  const auto check = [&] {
    EXPECT_EQ(subject(0), subject(1));
    EXPECT_NE(subject(0).first, subject(2).first);
    EXPECT_EQ(subject(0).second, subject(2).second);
  };
  check();
  Reopen();
  check();
  calibrations_->Record(Upload("d", {1.4}));
  EXPECT_EQ(subject(0), subject(3));
}

TEST_F(CalibrationsTest, TheSameRequestIsNotCountedTwice) {
  calibrations_->Record(Upload("a", {1.2}));
  const RecordOutcome again = calibrations_->Record(Upload("a", {1.2}));
  EXPECT_TRUE(again.already_recorded);
  EXPECT_EQ(again.revision, 1);
  EXPECT_EQ(disk_.records.size(), 1u);
  calibrations_->TakeBack({.is_remove = true, .target = 1});
  EXPECT_EQ(calibrations_->Record(Upload("a", {1.2})).revision, 3);  // it was out of force
}

TEST_F(CalibrationsTest, ADryRunChangesNothing) {
  const uint64_t generation = calibrations_->state()->generation;
  ProfileUpload upload = Upload("a", {1.2});
  upload.dry_run = true;
  const RecordOutcome outcome = calibrations_->Record(upload);
  EXPECT_EQ(outcome.revision, 0);
  EXPECT_NEAR(outcome.after.layer_times.mean, 0, 1e-5);
  EXPECT_EQ(calibrations_->state()->generation, generation);
  EXPECT_TRUE(disk_.records.empty());
  upload.dry_run = false;  // a dry run tells the outcome beforehand
  EXPECT_EQ(calibrations_->Record(upload).calibration.version, outcome.calibration.version);
}

TEST_F(CalibrationsTest, KeepsOnlyWhatCanBeBelieved) {
  EXPECT_EQ(calibrations_->Record(Upload("a", {5})).revision, 0);
  EXPECT_EQ(seen_.endings[ProfileEnding::kRefused], 1);
  EXPECT_EQ(seen_.refused[RefusedFor::kOutOfBounds], 1);
  EXPECT_TRUE(disk_.records.empty());
  EXPECT_EQ(calibrations_->Record(Upload("b", {5, 1.2})).revision, 1);
  EXPECT_EQ(calibrations_->state()->history[0]->profile().layer_times.size(), 1u);
}

TEST_F(CalibrationsTest, AStoreThatFailsChangesNothing) {
  calibrations_->Record(Upload("a", {1.2}));
  const CalibrationStatePtr before = calibrations_->state();
  disk_.broken = true;
  EXPECT_EQ(calibrations_->Record(Upload("b", {1.5})).store_error, "the disk is full");
  EXPECT_EQ(calibrations_->TakeBack({.target = 0}).store_error, "the disk is full");
  EXPECT_EQ(calibrations_->state(), before);
  EXPECT_EQ(seen_.store_errors, 2);
  disk_.broken = false;
  EXPECT_EQ(calibrations_->Record(Upload("b", {1.5})).revision, 2);
}

TEST_F(CalibrationsTest, RollBacksRestoreTheFormerPlanId) {
  const auto plan_id = [&] {
    planner::Job job = planner::QuickstartJob();
    job.calibration = calibrations_->state()->book.For(job.model, job.cluster.gpu);
    return PlanId(job);
  };
  const std::string none = plan_id();
  calibrations_->Record(Upload("a", {1.2}));
  const std::string one = plan_id();
  calibrations_->Record(Upload("b", {1.4}));
  const std::string two = plan_id();
  EXPECT_NE(one, none);
  EXPECT_NE(two, one);
  const RollBackOutcome back = calibrations_->TakeBack({.target = 1, .author = "me"});
  EXPECT_EQ(back.revision, 3);
  EXPECT_THAT(back.deactivated, ElementsAre(2));
  EXPECT_EQ(plan_id(), one);
  calibrations_->TakeBack({.target = 0});
  EXPECT_EQ(plan_id(), none);
  const RollBackOutcome undone = calibrations_->TakeBack({.target = 2});
  EXPECT_THAT(undone.reactivated, ElementsAre(1, 2));
  EXPECT_EQ(plan_id(), two);
  Reopen();
  EXPECT_EQ(plan_id(), two);
  EXPECT_TRUE(calibrations_->TakeBack({.is_remove = true, .target = 9}).not_found);
  EXPECT_EQ(calibrations_->TakeBack({.is_remove = true, .target = 3}).revision, 0);  // inactive
}

// The profile may be of a model that a later release has dropped.
TEST_F(CalibrationsTest, WhatTheCatalogueDoesNotKnowIsKeptButNotUsed) {
  calibrations_->Record(Upload("a", {1.2}));
  ProfileFacts facts;
  ASSERT_TRUE(ParseProfile(disk_.records[0].profile, &facts));
  planner::ModelSpec old = facts.profile.model;
  old.name = "a-model-of-old";
  facts.profile.model = old;
  disk_.records[0].profile = SerializeProfile(facts);
  Reopen();
  const HistoryEntry& entry = *calibrations_->state()->history[0];
  EXPECT_FALSE(entry.texts.known);
  EXPECT_EQ(entry.profile().model->name, "a-model-of-old");
  EXPECT_TRUE(InForce().empty());
}

TEST_F(CalibrationsTest, UnreadableProfilesAreNotHalfRead) {
  calibrations_->Record(Upload("a", {1.2}));
  disk_.records[0].profile = "\xff\xff";
  std::string error;
  EXPECT_EQ(Calibrations::Open(std::make_unique<FakeStore>(disk_), clock_, seen_, &error), nullptr);
  EXPECT_THAT(error, HasSubstr("revision 1 holds no profile"));
}

}  // namespace
}  // namespace evenkeel::server
