#include "server/calibration/calibration_registry.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "server/calibration/file_profile_store.h"
#include "tests/planner/profiles.h"
#include "tests/server/temporary_folder.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

class CalibrationRegistryTest : public testing::Test {
 protected:
  CalibrationRegistry::OpenStore OnDisk() const {
    return [path = path_](const std::string& tenant, std::string* error) {
      return FileProfileStore::Open(TenantStorePath(path, tenant), error, 1 << 20);
    };
  }

  static ProfileUpload Upload(const std::string& digest, double ratio) {
    ProfileUpload upload;
    upload.facts.profile = planner::QuickstartProfile();
    planner::AddLayerTime(upload.facts.profile, planner::LayerKind::kDense, planner::kText, ratio);
    upload.facts.digest = digest;
    return upload;
  }

  struct CountingObserver : CalibrationObserver {
    void OnStoreError() override { ++errors; }
    int errors = 0;
  };

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("profiles");
  Clock clock_;
  CountingObserver observer_;
};

TEST_F(CalibrationRegistryTest, FilesOfTenantsNeverMeet) {
  // Each store uses its own name and two names next to it.
  std::set<std::string> names;
  for (const char* tenant : {"", "a", "a-lock", "a-owner", "lmdb", "b"}) {
    const std::string path = TenantStorePath("p", tenant);
    for (const char* more : {"", "-lock", "-owner"}) EXPECT_TRUE(names.insert(path + more).second);
  }
  EXPECT_EQ(TenantStorePath("p", ""), "p");
  EXPECT_EQ(TenantStorePath("p", "a"), "p.a.lmdb");
}

TEST_F(CalibrationRegistryTest, FindsOnlyWhatWasOpened) {
  CalibrationRegistry registry(OnDisk(), clock_, observer_);
  std::string error;
  EXPECT_EQ(registry.Find("", &error), nullptr);
  EXPECT_THAT(error, HasSubstr("has not been opened"));
  Calibrations* const one = registry.Open("", &error);
  ASSERT_NE(one, nullptr) << error;
  EXPECT_EQ(registry.Open("", &error), one);
  EXPECT_EQ(registry.Find("", &error), one);
  EXPECT_EQ(registry.Find("a", &error), nullptr);
  Calibrations* const other = registry.Open("a", &error);
  EXPECT_NE(other, nullptr);
  EXPECT_NE(other, one);
  EXPECT_TRUE(std::filesystem::exists(path_ + ".a.lmdb"));
  EXPECT_EQ(observer_.errors, 0);
}

TEST_F(CalibrationRegistryTest, ProfilesOfOneTenantDoNotTouchAnother) {
  std::string error;
  {
    CalibrationRegistry registry(OnDisk(), clock_, observer_);
    Calibrations* const a = registry.Open("a", &error);
    Calibrations* const b = registry.Open("b", &error);
    const CalibrationStatePtr before = b->state();
    EXPECT_EQ(a->Record(Upload("one", 1.3)).revision, 1);
    EXPECT_EQ(a->Record(Upload("two", 1.4)).revision, 2);
    EXPECT_EQ(b->state(), before);
    EXPECT_EQ(b->Record(Upload("one", 1.3)).revision, 1);  // not "already recorded"
    EXPECT_EQ(registry.totals().revisions, 3);
    EXPECT_EQ(registry.totals().active_profiles, 3);
  }
  CalibrationRegistry again(OnDisk(), clock_, observer_);
  EXPECT_EQ(again.Open("", &error)->state()->newest(), 0);
  EXPECT_EQ(again.Open("a", &error)->state()->newest(), 2);
  EXPECT_EQ(again.Open("b", &error)->state()->newest(), 1);
}

TEST_F(CalibrationRegistryTest, AStoreThatCannotBeReadIsTriedAgain) {
  CalibrationRegistry registry(OnDisk(), clock_, observer_);
  std::ofstream(path_ + ".a.lmdb") << std::string(10'000, 'x');
  std::string error;
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(registry.Open("a", &error), nullptr);
    EXPECT_THAT(error, HasSubstr("is not a profile store"));
    EXPECT_EQ(observer_.errors, i);
  }
  error.clear();
  EXPECT_EQ(registry.Find("a", &error), nullptr);
  EXPECT_THAT(error, HasSubstr("is not a profile store"));
  EXPECT_NE(registry.Open("b", &error), nullptr);  // does not concern other tenants
  std::filesystem::remove(path_ + ".a.lmdb");
  EXPECT_NE(registry.Open("a", &error), nullptr);
  EXPECT_NE(registry.Find("a", &error), nullptr);
}

}  // namespace
}  // namespace evenkeel::server
