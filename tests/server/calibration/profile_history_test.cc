#include "server/calibration/profile_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace evenkeel::server {
namespace {

using testing::ElementsAre;

class History {
 public:
  History& Record() { return Add(ProfileAction::kRecord, 0); }
  History& BackTo(int64_t target) { return Add(ProfileAction::kRollBackTo, target); }
  History& Remove(int64_t target) { return Add(ProfileAction::kRemove, target); }

  // Returns the revisions in force.
  std::vector<int64_t> Active() const {
    std::vector<int64_t> revisions;
    const std::vector<bool> active = ActiveRevisions(records_);
    for (size_t i = 0; i < active.size(); ++i) {
      if (active[i]) revisions.push_back(static_cast<int64_t>(i) + 1);
    }
    return revisions;
  }

 private:
  History& Add(ProfileAction action, int64_t target) {
    records_.push_back({action, target});
    return *this;
  }

  std::vector<RevisionAction> records_;
};

TEST(ProfileHistoryTest, EverythingIsInForceUntilItIsTakenBack) {
  EXPECT_THAT(History().Active(), ElementsAre());
  EXPECT_THAT(History().Record().Record().Active(), ElementsAre(1, 2));
  EXPECT_THAT(History().Record().Record().Record().BackTo(1).Active(), ElementsAre(1, 4));
  EXPECT_THAT(History().Record().Record().BackTo(0).Active(), ElementsAre(3));
  EXPECT_THAT(History().Record().Record().Remove(1).Active(), ElementsAre(2, 3));
  EXPECT_THAT(History().Record().BackTo(0).Record().Active(), ElementsAre(2, 3));
}

TEST(ProfileHistoryTest, RollBacksCanBeTakenBack) {
  EXPECT_THAT(History().Record().Remove(1).Remove(2).Active(), ElementsAre(1, 3));
  EXPECT_THAT(History().Record().Remove(1).Remove(2).Remove(3).Active(), ElementsAre(2, 4));
  // Returns to the state after 2: the removal is undone, and what came since is gone.
  EXPECT_THAT(History().Record().Record().Remove(1).Record().BackTo(2).Active(),
              ElementsAre(1, 2, 5));
  EXPECT_THAT(History().Record().BackTo(0).BackTo(1).Active(), ElementsAre(1, 3));
}

}  // namespace
}  // namespace evenkeel::server
