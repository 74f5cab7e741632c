#include "planner/base/stop.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace evenkeel::planner {
namespace {

TEST(Stop, NeverStopsUnlessToldHow) {
  const Stop never;
  EXPECT_EQ(never.spent(), 0);
  never.Spend(int64_t{1} << 62);
  EXPECT_FALSE(never());
  EXPECT_FALSE(never.stopped());
  EXPECT_FALSE(Stop(std::function<bool()>())());
}

TEST(Stop, AsksOnceForSoManyUnits) {
  int64_t asked = 0;
  const Stop stop([&] { return ++asked, false; });
  for (int64_t i = 0; i < 10 * Stop::kUnitsPerQuestion; i += 100) stop.Spend(100);
  EXPECT_EQ(asked, 9);
  EXPECT_EQ(stop.spent(), 10 * Stop::kUnitsPerQuestion);
  stop.Spend(5 * Stop::kUnitsPerQuestion);  // asks at once, and counts as one question
  EXPECT_EQ(asked, 10);
  EXPECT_EQ(stop.spent(), 15 * Stop::kUnitsPerQuestion);
}

// A Stop that was true once has stopped the work, even if it is false later.
TEST(Stop, StaysStopped) {
  int64_t asked = 0;
  const Stop stop([&] { return ++asked == 2; });
  const Stop copy = stop;
  EXPECT_FALSE(stop());
  EXPECT_TRUE(copy());
  EXPECT_TRUE(stop());
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(asked, 2);
  EXPECT_THROW(stop.Spend(1), Stopped);
  EXPECT_THROW(copy.Spend(1), Stopped);
  EXPECT_THROW(copy.Ask(), Stopped);
}

// If a function takes a std::function, the Stop inside it is still the same one.
TEST(Stop, IsTheSameThroughAFunction) {
  int64_t asked = 0;
  const Stop stop([&] { return ++asked > 1; });
  const std::function<bool()> function = stop;
  const Stop again(function);
  EXPECT_FALSE(again());
  EXPECT_TRUE(function());
  EXPECT_TRUE(stop.stopped());
  EXPECT_THROW(again.Spend(0), Stopped);
  EXPECT_EQ(asked, 2);
}

TEST(Stop, WorkThatWasStoppedDoesNotPassForWhole) {
  const auto never = Stop([] { return false; });
  EXPECT_TRUE(RunsThrough(never, [&] { never.Spend(2 * Stop::kUnitsPerQuestion); }));
  const auto at_once = Stop([] { return true; });
  EXPECT_TRUE(RunsThrough(at_once, [] {}));  // nobody asked, so the work is complete
  int64_t done = 0;
  EXPECT_FALSE(RunsThrough(at_once, [&] {
    at_once.Spend(2 * Stop::kUnitsPerQuestion);
    ++done;
  }));
  EXPECT_EQ(done, 0);
  // A callee that asks for the value and returns half a result is also detected.
  EXPECT_FALSE(RunsThrough(at_once, [&] { done = at_once() ? 1 : 2; }));
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace evenkeel::planner
