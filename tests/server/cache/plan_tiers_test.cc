#include "server/cache/plan_tiers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/cache/plan_record.h"
#include "tests/server/damage.h"
#include "tests/server/temporary_folder.h"

namespace evenkeel::server {
namespace {

using std::chrono_literals::operator""s;

// A shared store that answers on a separate thread.
class FakeShared : public SharedBytes {
 public:
  explicit FakeShared(std::map<std::string, std::string>& values) : values_(values) {}
  ~FakeShared() override {
    for (std::thread& thread : threads_) thread.join();
  }
  void Find(const std::string& key, OnBytes done) override {
    const auto found = values_.find(key);
    std::optional<std::string> value;
    if (found != values_.end()) value = found->second;
    threads_.emplace_back(
        [done = std::move(done), value = std::move(value)] { done(value, true); });
  }
  void Put(const std::string& key, std::string bytes, OnKept) override {
    values_[key] = std::move(bytes);
  }

 private:
  std::map<std::string, std::string>& values_;
  std::vector<std::thread> threads_;
};

class PlanTiersTest : public testing::Test {
 protected:
  std::unique_ptr<StoreWriter> Store() {
    return std::make_unique<StoreWriter>(
        StoreWriter::Settings{.path = path_, .budget_bytes = 4 << 20}, Note());
  }
  std::unique_ptr<PlanTiers> Open(bool store, bool shared) {
    return std::make_unique<PlanTiers>(store ? Store() : nullptr,
                                       shared ? std::make_unique<FakeShared>(values_) : nullptr,
                                       "v", Note());
  }
  StoreWriter::OnFault Note() {
    return [this](const std::string& fault) {
      const std::lock_guard lock(mutex_);
      faults_.push_back(fault);
    };
  }

  static StoredPlanPtr Plan(const std::string& id, const std::string& tenant = "",
                            PlanTime made = PlanTime(1000s)) {
    StoredPlan plan;
    plan.tenant = tenant;
    plan.plan_id = id;
    plan.plan_bytes = "plan " + id;
    plan.create_time = made;
    return std::make_shared<const StoredPlan>(std::move(plan));
  }

  static FoundPlan Find(PlanTiers& tiers, const std::string& id, const std::string& tenant = "",
                        PlanTime oldest = PlanTime::min()) {
    const auto found =
        std::make_shared<std::promise<FoundPlan>>();  // the code that sets it may still be running
    tiers.Find(tenant, id, oldest, [found](const FoundPlan& plan) { found->set_value(plan); });
    return found->get_future().get();
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.File("plans");
  std::map<std::string, std::string> values_;
  std::mutex mutex_;
  std::vector<std::string> faults_;
};

TEST_F(PlanTiersTest, TheFileOutlivesTheProcess) {
  Open(true, false)->Put(Plan("a"));
  auto tiers = Open(true, false);
  const FoundPlan found = Find(*tiers, "a");
  ASSERT_NE(found.plan, nullptr);
  EXPECT_EQ(found.tier, PlanTier::kStore);
  EXPECT_EQ(found.plan->plan_bytes, "plan a");
  EXPECT_EQ(Find(*tiers, "b").plan, nullptr);
  EXPECT_EQ(tiers->store_counters().hits, 1);
  EXPECT_EQ(tiers->store_counters().misses, 1);
  EXPECT_EQ(tiers->store_counters().entries, 1);
}

TEST_F(PlanTiersTest, APlanFoundInTheSharedTierIsKeptInTheFile) {
  Open(false, true)->Put(Plan("a"));
  {
    auto tiers = Open(true, true);
    EXPECT_EQ(Find(*tiers, "a").tier, PlanTier::kShared);
    EXPECT_EQ(tiers->shared_counters().hits, 1);
  }
  EXPECT_EQ(Find(*Open(true, false), "a").tier, PlanTier::kStore);
}

TEST_F(PlanTiersTest, TenantsDoNotSeeEachOther) {
  auto tiers = Open(false, true);
  tiers->Put(Plan("a", "team-a"));
  EXPECT_EQ(Find(*tiers, "a", "team-b").plan, nullptr);
  EXPECT_EQ(Find(*tiers, "a").plan, nullptr);
  ASSERT_NE(Find(*tiers, "a", "team-a").plan, nullptr);
  EXPECT_EQ(Find(*tiers, "a", "team-a").plan->tenant, "team-a");
}

TEST_F(PlanTiersTest, PlansThatAreTooOldDoNotCount) {
  auto tiers = Open(false, true);
  tiers->Put(Plan("a"));
  EXPECT_EQ(Find(*tiers, "a", "", PlanTime(1001s)).plan, nullptr);
  EXPECT_NE(Find(*tiers, "a", "", PlanTime(1000s)).plan, nullptr);
}

TEST_F(PlanTiersTest, DamagedAndForeignRecordsAreNeverServed) {
  auto tiers = Open(false, true);
  tiers->Put(Plan("a"));
  tiers->Put(Plan("b"));
  values_["a"][20] ^= 1;
  values_["c"] = values_["b"];  // filed under another key
  values_["d"] = "foreign";
  for (const char* id : {"a", "c", "d"}) EXPECT_EQ(Find(*tiers, id).plan, nullptr) << id;
  EXPECT_NE(Find(*tiers, "b").plan, nullptr);
  EXPECT_EQ(tiers->shared_counters().errors, 3);
  EXPECT_EQ(faults_.size(), 3u);
}

TEST_F(PlanTiersTest, MemoryIsWarmedWithTheNewest) {
  {
    auto tiers = Open(true, false);
    for (int i = 0; i < 100; ++i) {
      tiers->Put(Plan("p" + std::to_string(i), i % 2 == 0 ? "" : "t", PlanTime(1s * i)));
    }
  }
  auto tiers = Open(true, false);
  PlanCache cache(1 << 20, 1);
  tiers->Warm(&cache, 50 * 1300);
  EXPECT_GT(cache.counters().entries, 40u);
  EXPECT_LT(cache.counters().entries, 60u);
  const auto page = cache.List("t", 2, "");
  EXPECT_EQ(page->plans[0]->plan_id, "p99");
  EXPECT_EQ(page->plans[1]->plan_id, "p97");
  EXPECT_EQ(cache.List("", 1, "")->plans[0]->plan_id, "p98");
}

// Another server holds the file, so only memory is used until it lets go.
TEST_F(PlanTiersTest, AFileThatCanNotBeHadIsTriedAgain) {
  auto owner = Store();
  StoreWriter writer(
      {.path = path_, .budget_bytes = 4 << 20, .retry = std::chrono::milliseconds(5)}, Note());
  EXPECT_FALSE(writer.ok());
  writer.Put({"a", 1, "record"});
  EXPECT_EQ(writer.dropped(), 1);
  std::string record;
  EXPECT_FALSE(writer.Find("a", &record));
  owner.reset();
  while (!writer.ok()) std::this_thread::yield();
  writer.Put({"a", 1, "record"});
  while (!writer.Find("a", &record)) std::this_thread::yield();
  EXPECT_EQ(record, "record");
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(faults_.size(), 1u);
}

// A look-up finds the damage. The file is set aside, reported and counted, and the next plans are
// kept.
TEST_F(PlanTiersTest, ADamagedFileIsSetAsideWhileItServes) {
  { Open(true, false)->Put(Plan("a")); }
  auto tiers = Open(true, false);
  std::string bytes = FileBytes(path_);
  bytes[bytes.size() - 20] ^= 1;
  SetFileBytes(path_, bytes);
  EXPECT_EQ(Find(*tiers, "a").plan, nullptr);
  while (tiers->store_counters().set_aside == 0) std::this_thread::yield();
  EXPECT_EQ(FileBytes(path_ + ".damaged-1"), bytes);
  tiers->Put(Plan("b"));
  while (Find(*tiers, "b").plan == nullptr) std::this_thread::yield();
  EXPECT_TRUE(tiers->store_counters().ok);
  EXPECT_EQ(tiers->store_counters().set_aside, 1);
  EXPECT_GE(tiers->store_counters().errors, 1);
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(faults_.size(), 2u);
  EXPECT_NE(faults_[0].find("its checksum does not match"), std::string::npos) << faults_[0];
  EXPECT_NE(faults_[1].find("set aside as"), std::string::npos) << faults_[1];
}

}  // namespace
}  // namespace evenkeel::server
