#include "planner/base/compact_id.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace evenkeel::planner {
namespace {

const std::string kDigits = "0123456789abcdef00ff7f80e1d2c3b4";

TEST(CompactIdTest, GivesBackEveryText) {
  for (const std::string& text :
       {std::string(), std::string("a"), "plan-" + kDigits, "prof-" + kDigits, "plan-0" + kDigits,
        "plan-" + kDigits.substr(1), "plan-" + kDigits.substr(1) + "A",
        "plan-" + kDigits.substr(1) + "g", std::string(37, '\0'), kDigits}) {
    EXPECT_EQ(CompactId(text).text(), text);
  }
}

TEST(CompactIdTest, EqualTextsAreEqual) {
  const std::string texts[] = {"", "a", "b", "plan-" + kDigits, "prof-" + kDigits};
  for (const std::string& a : texts) {
    for (const std::string& b : texts) EXPECT_EQ(CompactId(a) == CompactId(b), a == b) << a << b;
  }
}

// A server keeps ids by the million.
TEST(CompactIdTest, TakesLessMemoryThanAnEmptyText) {
  EXPECT_LE(sizeof(CompactId), sizeof(std::string));
}

TEST(SharedValueTest, IsNotEmptyWhenMovedFrom) {
  SharedValue<std::string> from(std::string("kept"));
  const SharedValue<std::string> to(std::move(from));
  EXPECT_EQ(*from, "kept");  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(&*from, &*to);
  EXPECT_FALSE(from.alone());
}

}  // namespace
}  // namespace evenkeel::planner
