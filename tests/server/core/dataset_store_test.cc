#include "server/core/dataset_store.h"

#include <gtest/gtest.h>

#include <string>

namespace evenkeel::server {
namespace {

TEST(DatasetStore, KeepsWhatFitsAndForgetsTheLeastRecentlyUsed) {
  DatasetStore store(3000);
  EXPECT_EQ(store.Find("a"), nullptr);
  EXPECT_TRUE(store.Insert("a", std::string(1000, 'a')));
  EXPECT_TRUE(store.Insert("b", std::string(1000, 'b')));
  EXPECT_TRUE(store.Insert("b", "other bytes under a digest do not exist"));
  EXPECT_EQ(store.counters().entries, 2u);
  const DatasetBytes a = store.Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_TRUE(store.Insert("c", std::string(1000, 'c')));
  EXPECT_EQ(store.Find("b"), nullptr);
  EXPECT_NE(store.Find("a"), nullptr);
  EXPECT_EQ(store.counters().evictions, 1u);
  EXPECT_LE(store.counters().bytes, 3000u);
  EXPECT_FALSE(store.Insert("d", std::string(4000, 'd')));
  EXPECT_EQ(a->size(), 1000u);
}

}  // namespace
}  // namespace evenkeel::server
