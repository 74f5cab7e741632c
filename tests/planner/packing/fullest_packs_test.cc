#include "planner/packing/fullest_packs.h"

#include <gtest/gtest.h>

#include "planner/packing/balanced.h"
#include "tests/planner/long_mix.h"

namespace evenkeel::planner {
namespace {

TEST(FullestPacksTest, FindsTheFullPacks) {
  // First fit decreasing takes 4 + 4 first and needs three packs.
  const std::vector<int32_t> units(6), tokens = {4, 3, 3, 4, 3, 3};
  EXPECT_EQ(PackFullest({units, tokens}, 10, 2).size(), 2u);
}

TEST(FullestPacksTest, LeavesManySamplesToOthers) {
  const std::vector<int32_t> units(20), tokens(20, 1);
  EXPECT_EQ(PackFullest({units, tokens}, 20, 1).size(), 0u);
}

// With two or three samples in a pack, decreasing packers and designs stay 6 above the bound.
TEST(FullestPacksTest, MeetsTheBoundOfTheLongMix) {
  std::vector<int32_t> tokens;
  for (const int32_t t : MakeLongMix().tokens)
    if (t > 16384) tokens.push_back(t);
  const std::vector<int32_t> units(tokens.size());
  EXPECT_EQ(PackBalanced({units, tokens}, {0, 131072}).size(), 1203u);
}

}  // namespace
}  // namespace evenkeel::planner
