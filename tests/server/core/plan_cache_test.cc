#include "server/core/plan_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace evenkeel::server {
namespace {

using Count = PlanCache::Count;

StoredPlanPtr MakePlan(const std::string& id, size_t bytes = 100) {
  return std::make_shared<const StoredPlan>(
      StoredPlan{"", id, std::string(bytes, 'x'), {}, {}, {}, {}, {}});
}

std::vector<std::string> Ids(const PlanPage& page) {
  std::vector<std::string> ids;
  for (const StoredPlanPtr& plan : page.plans) ids.push_back(plan->plan_id);
  return ids;
}

using Strings = std::vector<std::string>;

TEST(PlanCacheTest, FindsWhatWasInserted) {
  PlanCache cache(1 << 20, 7);
  cache.Insert(MakePlan("a"));
  ASSERT_NE(cache.Find("a", Count::kHitAndMiss), nullptr);
  EXPECT_EQ(cache.Find("a", Count::kHitAndMiss)->plan_id, "a");
  EXPECT_EQ(cache.Find("b", Count::kHitAndMiss), nullptr);
  EXPECT_EQ(cache.counters().hits, 2u);
  EXPECT_EQ(cache.counters().misses, 1u);
  EXPECT_EQ(cache.counters().entries, 1u);
}

TEST(PlanCacheTest, CountsOnlyWhatItIsToldTo) {
  PlanCache cache(1 << 20, 7);
  cache.Insert(MakePlan("a"));
  cache.Find("a", Count::kHitOnly);
  cache.Find("b", Count::kHitOnly);
  cache.Find("a", Count::kNothing);
  cache.Find("b", Count::kNothing);
  EXPECT_EQ(cache.counters().hits, 1u);
  EXPECT_EQ(cache.counters().misses, 0u);
}

TEST(PlanCacheTest, StaysBelowItsBytesAndForgetsTheLeastRecentlyUsed) {
  PlanCache cache(4000, 7);
  cache.Insert(MakePlan("a", 500));
  cache.Insert(MakePlan("b", 500));
  cache.Insert(MakePlan("c", 500));
  cache.Find("a", Count::kNothing);
  while (cache.counters().evictions == 0) {
    cache.Insert(MakePlan("n" + std::to_string(cache.counters().entries), 500));
    EXPECT_LE(cache.counters().bytes, 4000u);
  }
  EXPECT_NE(cache.Find("a", Count::kNothing), nullptr);  // used since then
  EXPECT_EQ(cache.Find("b", Count::kNothing), nullptr);
  EXPECT_EQ(cache.List("", 100, "")->plans.size(), cache.counters().entries);
}

TEST(PlanCacheTest, DoesNotKeepWhatIsLargerThanItself) {
  PlanCache cache(1000, 7);
  cache.Insert(MakePlan("small", 10));
  cache.Insert(MakePlan("large", 2000));
  EXPECT_EQ(cache.Find("large", Count::kNothing), nullptr);
  EXPECT_NE(cache.Find("small", Count::kNothing), nullptr);
}

TEST(PlanCacheTest, KeepsTheFirstOfEqualIds) {
  PlanCache cache(1 << 20, 7);
  const StoredPlanPtr first = MakePlan("a");
  cache.Insert(first);
  cache.Insert(MakePlan("a"));
  EXPECT_EQ(cache.Find("a", Count::kNothing), first);
  EXPECT_EQ(cache.counters().entries, 1u);
}

TEST(PlanCacheTest, ListsNewestFirstInPages) {
  PlanCache cache(1 << 20, 7);
  for (const char* id : {"a", "b", "c", "d", "e"}) cache.Insert(MakePlan(id));
  const auto first = cache.List("", 2, "");
  EXPECT_EQ(Ids(*first), (Strings{"e", "d"}));
  const auto second = cache.List("", 2, first->next_page_token);
  EXPECT_EQ(Ids(*second), (Strings{"c", "b"}));
  const auto third = cache.List("", 2, second->next_page_token);
  EXPECT_EQ(Ids(*third), (Strings{"a"}));
  EXPECT_EQ(third->next_page_token, "");
}

TEST(PlanCacheTest, AnExactlyFullPageIsTheLast) {
  PlanCache cache(1 << 20, 7);
  for (const char* id : {"a", "b"}) cache.Insert(MakePlan(id));
  EXPECT_EQ(cache.List("", 2, "")->next_page_token, "");
  EXPECT_TRUE(PlanCache(1 << 20, 7).List("", 2, "")->plans.empty());
}

// Plans that are stored while somebody pages through do not shift the later pages.
TEST(PlanCacheTest, PagingIsStableUnderInsertion) {
  PlanCache cache(1 << 20, 7);
  for (const char* id : {"a", "b", "c"}) cache.Insert(MakePlan(id));
  const auto first = cache.List("", 1, "");
  cache.Insert(MakePlan("d"));
  EXPECT_EQ(Ids(*cache.List("", 5, first->next_page_token)), (Strings{"b", "a"}));
}

// The plan from which the token was made may be gone by the next page.
TEST(PlanCacheTest, PagingIsStableUnderEviction) {
  PlanCache cache(6000, 7);
  for (const char* id : {"a", "b", "c"}) cache.Insert(MakePlan(id, 1000));
  const auto first = cache.List("", 1, "");
  cache.Find("a", Count::kNothing);
  cache.Insert(MakePlan("big", 3000));
  ASSERT_EQ(cache.Find("b", Count::kNothing), nullptr);
  const auto second = cache.List("", 5, first->next_page_token);
  for (const std::string& id : Ids(*second)) EXPECT_EQ(id, "a");
}

TEST(PlanCacheTest, RefusesForeignTokens) {
  PlanCache cache(1 << 20, 7);
  PlanCache other(1 << 20, 8);
  for (const char* id : {"a", "b", "c"}) {
    cache.Insert(MakePlan(id));
    other.Insert(MakePlan(id));
  }
  EXPECT_FALSE(cache.List("", 1, other.List("", 1, "")->next_page_token).has_value());
  EXPECT_FALSE(cache.List("", 1, "x").has_value());
  EXPECT_FALSE(cache.List("", 1, std::string(40, 'g')).has_value());
  EXPECT_FALSE(cache.List("", 1, std::string(40, '-')).has_value());
}

TEST(PlanCacheTest, TheNewestOfAllTenants) {
  PlanCache cache(1 << 20, 1);
  const auto insert = [&cache](const std::string& tenant, const std::string& id, int second) {
    auto plan = std::make_shared<StoredPlan>();
    plan->tenant = tenant;
    plan->plan_id = id;
    plan->create_time = PlanTime(std::chrono::seconds(second));
    cache.Insert(std::move(plan));
  };
  EXPECT_TRUE(cache.Newest(3).empty());
  insert("x", "a", 1);
  insert("y", "b", 2);
  insert("x", "c", 3);
  insert("x", "d", 4);
  insert("", "e", 5);
  insert("y", "f", 6);
  const auto ids = [&cache](size_t count) {
    std::string all;
    for (const StoredPlanPtr& plan : cache.Newest(count)) all += plan->plan_id;
    return all;
  };
  EXPECT_EQ(ids(4), "fedc");
  EXPECT_EQ(ids(0), "");
  EXPECT_EQ(ids(100), "fedcba");
}

}  // namespace
}  // namespace evenkeel::server
