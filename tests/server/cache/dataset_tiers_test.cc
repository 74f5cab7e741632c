#include "server/cache/dataset_tiers.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/planning/keep_dataset.h"

namespace evenkeel::server {
namespace {

using Fetched = DatasetTiers::Fetched;

enum class Mood { kWell, kSilent, kEnding };

// A shared store that answers at once.
class FakeSharedDatasets : public SharedBytes {
 public:
  FakeSharedDatasets(std::map<std::string, std::string>& values, const Mood& mood)
      : values_(values), mood_(mood) {}
  void Find(const std::string& key, OnBytes done) override {
    if (mood_ != Mood::kWell) return done(std::nullopt, false);
    const auto found = values_.find(key);
    if (found == values_.end()) return done(std::nullopt, true);
    done(found->second, true);
  }
  void Put(const std::string& key, std::string bytes, OnKept done) override {
    if (mood_ == Mood::kEnding) return;
    if (mood_ == Mood::kWell) values_[key] = std::move(bytes);
    done(mood_ == Mood::kWell);
  }

 private:
  std::map<std::string, std::string>& values_;
  const Mood& mood_;
};

struct Replica {
  Replica(std::map<std::string, std::string>& values, const Mood& mood)
      : tiers(memory, std::make_unique<FakeSharedDatasets>(values, mood), &IsKeptDataset) {}
  DatasetStore memory{size_t{1} << 20};
  DatasetTiers tiers;
};

class DatasetTiersTest : public testing::Test {
 protected:
  static KeptDataset Dataset() {
    const std::vector<int32_t> units = {1, 5, 1}, tokens = {300, 1400, 300};
    return KeepDataset({units, tokens});
  }

  const KeptDataset dataset_ = Dataset();
  std::map<std::string, std::string> values_;
  Mood mood_ = Mood::kWell;
  Replica one_{values_, mood_}, other_{values_, mood_};
};

TEST_F(DatasetTiersTest, AnUploadIsFoundByTheOtherReplica) {
  ASSERT_TRUE(one_.tiers.Insert("", dataset_.ref, dataset_.bytes));
  EXPECT_EQ(other_.tiers.Find("", dataset_.ref), nullptr);
  EXPECT_EQ(other_.tiers.Fetch("", dataset_.ref), Fetched::kHere);
  ASSERT_NE(other_.tiers.Find("", dataset_.ref), nullptr);
  EXPECT_EQ(*other_.tiers.Find("", dataset_.ref), dataset_.bytes);
}

TEST_F(DatasetTiersTest, TenantsDoNotSeeEachOther) {
  ASSERT_TRUE(one_.tiers.Insert("a", dataset_.ref, dataset_.bytes));
  EXPECT_EQ(other_.tiers.Fetch("", dataset_.ref), Fetched::kNowhere);
  EXPECT_EQ(other_.tiers.Fetch("b", dataset_.ref), Fetched::kNowhere);
  EXPECT_EQ(other_.tiers.Fetch("a", dataset_.ref), Fetched::kHere);
  EXPECT_EQ(other_.tiers.Find("b", dataset_.ref), nullptr);
}

TEST_F(DatasetTiersTest, WhatIsDamagedOrForeignIsNotThere) {
  ASSERT_TRUE(one_.tiers.Insert("", dataset_.ref, dataset_.bytes));
  values_.begin()->second[1] ^= 4;
  EXPECT_EQ(other_.tiers.Fetch("", dataset_.ref), Fetched::kNowhere);
  values_.begin()->second = "something else";
  EXPECT_EQ(other_.tiers.Fetch("", dataset_.ref), Fetched::kNowhere);
}

TEST_F(DatasetTiersTest, ASilentStoreIsUnknownAndFailsNoUpload) {
  mood_ = Mood::kSilent;
  EXPECT_TRUE(one_.tiers.Insert("", dataset_.ref, dataset_.bytes));
  EXPECT_NE(one_.tiers.Find("", dataset_.ref), nullptr);
  EXPECT_EQ(other_.tiers.Fetch("", dataset_.ref), Fetched::kUnknown);
}

TEST_F(DatasetTiersTest, AnUploadDoesNotWaitForAStoreThatEnds) {
  mood_ = Mood::kEnding;
  EXPECT_TRUE(one_.tiers.Insert("", dataset_.ref, dataset_.bytes));
}

TEST_F(DatasetTiersTest, AServerAloneSharesNothing) {
  DatasetTiers alone(one_.memory, nullptr, &IsKeptDataset);
  EXPECT_FALSE(alone.has_shared());
  EXPECT_TRUE(alone.Insert("", dataset_.ref, dataset_.bytes));
  EXPECT_EQ(alone.Fetch("", "ds-0"), Fetched::kNowhere);
  DatasetStore tiny{16};
  EXPECT_FALSE(
      DatasetTiers(tiny, nullptr, &IsKeptDataset).Insert("", dataset_.ref, dataset_.bytes));
}

}  // namespace
}  // namespace evenkeel::server
