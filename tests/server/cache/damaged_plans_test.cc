// Tests files of plans under every kind of damage. The store opens and works, no wrong plan is
// found, and lost plans were set aside.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "server/cache/lmdb_reader.h"
#include "server/cache/plan_record.h"
#include "server/cache/plan_store.h"
#include "tests/server/damage.h"
#include "tests/server/temporary_folder.h"

namespace evenkeel::server {
namespace {

constexpr int kPlans = 60;
constexpr int64_t kSmallBudget = 400'000;  // makes two or three parts

StoredPlan Plan(int number) {
  StoredPlan plan;
  plan.plan_id = "plan-" + std::to_string(number);
  plan.plan_bytes = std::string(1000 + static_cast<size_t>(number * 917 % 5000), 'p');
  plan.create_time = PlanTime(std::chrono::seconds(number));
  return plan;
}

PlanEntry Entry(int number) {
  const StoredPlan plan = Plan(number);
  return {plan.key(), plan.made_ns(), EncodePlanRecord(plan, "v")};
}

std::vector<std::string> FilesOf(const std::string& path, const std::string& ending) {
  std::vector<std::string> found;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(path).parent_path())) {
    const std::string name = file.path().string();
    if (name.starts_with(path + ending)) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> PartsOf(const std::string& path) {
  std::vector<std::string> parts = {path};
  for (int i = 1; std::filesystem::exists(path + "." + std::to_string(i)); ++i) {
    parts.push_back(path + "." + std::to_string(i));
  }
  return parts;
}

enum class DamageOutcome {
  kWhole,
  kSetAside,
  kNotOpened,
  kWrongPlan,
  kLostSilently,
  kCannotGoOn,
  kGone
};

// Returns the number of plans that are there, or -1 if one of them is wrong.
int CountGood(const PlanStore& store, bool* damaged) {
  int good = 0;
  for (int i = 1; i <= kPlans; ++i) {
    std::string record, error;
    const PlanStore::Found found = store.Find(Entry(i).key, &record, &error);
    if (found == PlanStore::Found::kDamaged) *damaged = true;
    if (found != PlanStore::Found::kYes) continue;
    if (record != Entry(i).record) return -1;
    ++good;
  }
  return good;
}

DamageOutcome Judge(PlanStore* store, const std::string& path, bool damaged, int good,
                    const std::string& bytes) {
  if (good < 0) return DamageOutcome::kWrongPlan;
  if (damaged && !store->Repair().empty()) return DamageOutcome::kNotOpened;
  if (good < kPlans && store->set_aside() == 0) return DamageOutcome::kLostSilently;
  if (store->set_aside() > 0) {
    bool is_kept = false;
    for (const std::string& name : FilesOf(path, ".damaged-")) {
      is_kept |= bytes.empty() || FileBytes(name) == bytes;
    }
    if (!is_kept) return DamageOutcome::kGone;
  }
  const PlanEntry more = Entry(kPlans + 1);
  std::string record, error;
  if (!store->Write({&more, 1}).ok() ||
      store->Find(more.key, &record, &error) != PlanStore::Found::kYes || record != more.record) {
    return DamageOutcome::kCannotGoOn;
  }
  return store->set_aside() > 0 ? DamageOutcome::kSetAside : DamageOutcome::kWhole;
}

class DamagedPlansTest : public testing::Test {
 protected:
  std::unique_ptr<PlanStore> Open() {
    return PlanStore::Open(
        path_, kSmallBudget, [](const std::string&) {}, &error_);
  }

  void Fill() {
    auto store = Open();
    ASSERT_NE(store, nullptr) << error_;
    for (int i = 1; i <= kPlans; ++i) {
      const PlanEntry entry = Entry(i);
      ASSERT_TRUE(store->Write({&entry, 1}).ok());
    }
    ASSERT_EQ(store->entries(), kPlans);
    for (const std::string& part : PartsOf(path_)) good_.push_back(FileBytes(part));
  }

  void PutBack() {
    for (const auto& file : FilesOf(path_, "")) std::filesystem::remove(file);
    for (size_t i = 0; i < good_.size(); ++i) {
      SetFileBytes(i == 0 ? path_ : path_ + "." + std::to_string(i), good_[i]);
    }
  }

  // Runs `try_one`, which damages and judges, in a separate process.
  void TryAll(const std::function<DamageOutcome(const std::string& path, const std::string& bytes)>&
                  try_one) {
    std::mt19937_64 chance(20'261'122);
    int aside = 0, whole = 0;
    for (int i = 0; i < DamagedFiles(); ++i) {
      PutBack();
      const size_t part = chance() % good_.size();
      std::string bytes = good_[part], how;
      while (how.empty()) {
        how = Damage(static_cast<size_t>(i) % std::size(kDamages), chance, &bytes);
      }
      const std::string path = part == 0 ? path_ : path_ + "." + std::to_string(part);
      const int outcome = InChild([&] { return static_cast<int>(try_one(path, bytes)); });
      aside += outcome == static_cast<int>(DamageOutcome::kSetAside) ? 1 : 0;
      whole += outcome == static_cast<int>(DamageOutcome::kWhole) ? 1 : 0;
      EXPECT_TRUE(outcome == static_cast<int>(DamageOutcome::kSetAside) ||
                  outcome == static_cast<int>(DamageOutcome::kWhole))
          << "file " << i << ", part " << part << ", " << how << ": outcome " << outcome;
    }
    std::printf("%d damaged files: %d set aside, %d whole all the same\n", DamagedFiles(), aside,
                whole);
    EXPECT_GT(aside, DamagedFiles() / 3);
    EXPECT_GT(whole, 0);
  }

  // Tries damage that exists when the store is opened.
  void TryAllAtTheStart() {
    TryAll([this](const std::string& path, const std::string& bytes) {
      SetFileBytes(path, bytes);
      auto store = Open();
      if (store == nullptr) return DamageOutcome::kNotOpened;
      bool damaged = false;
      const int good = CountGood(*store, &damaged);
      return Judge(store.get(), path_, damaged, good, bytes);
    });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("plans");
  std::vector<std::string> good_;
  std::string error_;
};

TEST_F(DamagedPlansTest, AreSetAsideAtTheStart) {
  Fill();
  ASSERT_GT(good_.size(), 1u);
  TryAllAtTheStart();
}

// Some damage is never noticed, because of a part that is only read, nothing more is read than what
// is asked for.
TEST_F(DamagedPlansTest, AreSetAsideWhenTheDamageIsMetLater) {
  Fill();
  TryAll([this](const std::string& path, const std::string& bytes) {
    auto store = Open();
    if (store == nullptr) return DamageOutcome::kNotOpened;
    SetFileBytes(path, bytes);
    bool damaged = false;
    const int good = CountGood(*store, &damaged);
    const PlanEntry one = Entry(1);
    if (store->Write({&one, 1}).damaged) damaged = true;
    return Judge(store.get(), path_, damaged, good, "");  // the store may have been written to
  });
}

TEST_F(DamagedPlansTest, OfAnEarlierVersionAreSetAside) {
  LmdbTransactions transactions = {{{"meta", "schema", "evenkeel-plans/1"}}};
  for (int i = 1; i <= kPlans; ++i) {
    const PlanEntry entry = Entry(i);
    const std::string time = LmdbNumber(entry.made_ns);
    transactions.push_back({{"plans", entry.key, time + entry.record},
                            {"by_time", time + entry.key, ""},
                            {"meta", "bytes", LmdbNumber(i * 4096)}});
  }
  WriteLmdb(path_, transactions);
  good_ = {FileBytes(path_)};
  TryAllAtTheStart();
}

TEST_F(DamagedPlansTest, FourFilesAreKeptAndNeverReplaced) {
  Fill();
  std::vector<std::string> told;
  for (int i = 1; i <= PlanStore::kDamagedKept + 2; ++i) {
    PutBack();
    for (int j = 1; j < i && j <= PlanStore::kDamagedKept; ++j) {
      SetFileBytes(path_ + ".damaged-" + std::to_string(j), std::to_string(j));
    }
    std::string bytes = good_[0];
    bytes[9000] ^= 1;
    SetFileBytes(path_, bytes);
    const auto store = PlanStore::Open(
        path_, kSmallBudget, [&](const std::string& what) { told.push_back(what); }, &error_);
    ASSERT_NE(store, nullptr) << error_;
    EXPECT_EQ(store->set_aside(), 1);
    for (int j = 1; j < i && j <= PlanStore::kDamagedKept; ++j) {
      EXPECT_EQ(FileBytes(path_ + ".damaged-" + std::to_string(j)), std::to_string(j));
    }
  }
  ASSERT_EQ(told.size(), static_cast<size_t>(PlanStore::kDamagedKept) + 2);
  EXPECT_NE(told[1].find("set aside as " + path_ + ".damaged-2"), std::string::npos) << told[1];
  EXPECT_NE(told.back().find("removed"), std::string::npos) << told.back();
  EXPECT_FALSE(std::filesystem::exists(path_ + ".damaged-5"));
}

}  // namespace
}  // namespace evenkeel::server
