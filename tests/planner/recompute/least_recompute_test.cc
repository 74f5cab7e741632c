// Exactness is tested in tests/reference; here are cases by hand.
#include "planner/recompute/least_recompute.h"

#include <gtest/gtest.h>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

LayerProfile TwoKinds() {
  LayerProfile profile;
  LayerCost encoder{.kind = LayerKind::kEncoder, .recomputable = true};
  encoder.forward_ns = 10, encoder.weight_bytes = 5;
  encoder.activation_bytes = 8, encoder.checkpoint_bytes = 2, encoder.workspace_bytes = 1;
  LayerCost dense{.kind = LayerKind::kDense, .recomputable = true};
  dense.forward_ns = 4, dense.weight_bytes = 7;
  dense.activation_bytes = 5, dense.checkpoint_bytes = 1, dense.workspace_bytes = 3;
  profile.kinds = {encoder, dense};
  return profile;
}

TEST(MemoryOfTest, AddsUpByHand) {
  const LayerProfile profile = TwoKinds();
  const StageMemory none = MemoryOf(profile, {2, 3}, {}, 4);
  EXPECT_EQ(none.static_bytes, 2 * 5 + 3 * 7);
  EXPECT_EQ(none.activation_bytes, 4 * (2 * 8 + 3 * 5));
  EXPECT_EQ(none.workspace_bytes, 3);
  const StageMemory some = MemoryOf(profile, {2, 3}, {1, 0}, 4);
  EXPECT_EQ(some.activation_bytes, 4 * (8 + 2 + 3 * 5));
  EXPECT_EQ(some.workspace_bytes, 1 + 8);  // all of a layer again
  EXPECT_EQ(some.allocated(), 31 + 100 + 9);
}

TEST(LeastRecomputeTest, NoneWhereEverythingFits) {
  const auto choice = LeastRecompute(TwoKinds(), {2, 3}, 4, 1000, RecomputePolicy::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->recomputed, KindCounts{});
  EXPECT_EQ(choice->recompute_ns, 0);
}

TEST(LeastRecomputeTest, TakesTheCheaperKindFirst) {
  // None takes 158; one dense layer saves 4 x 4 and adds 5 of workspace.
  const LayerProfile profile = TwoKinds();
  EXPECT_EQ(MemoryOf(profile, {2, 3}, {}, 4).allocated(), 158);
  const auto choice = LeastRecompute(profile, {2, 3}, 4, 147, RecomputePolicy::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->recomputed, (KindCounts{0, 1}));
  EXPECT_EQ(choice->recompute_ns, 4);
  EXPECT_EQ(LeastRecompute(profile, {2, 3}, 4, 146, RecomputePolicy::kAuto)->recompute_ns, 8);
}

TEST(LeastRecomputeTest, PoliciesAreGiven) {
  const LayerProfile profile = TwoKinds();
  EXPECT_FALSE(LeastRecompute(profile, {2, 3}, 4, 157, RecomputePolicy::kForbidden));
  EXPECT_TRUE(LeastRecompute(profile, {2, 3}, 4, 158, RecomputePolicy::kForbidden));
  const auto full = LeastRecompute(profile, {2, 3}, 4, 1000, RecomputePolicy::kFull);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->recomputed, (KindCounts{2, 3}));
  EXPECT_FALSE(LeastRecompute(profile, {2, 3}, 4, 20, RecomputePolicy::kFull));
}

TEST(LeastRecomputeTest, OneKindAloneMayBeSmallest) {
  // Recomputing dense layers costs more workspace than it saves with one pack in flight.
  LayerProfile profile = TwoKinds();
  profile.kinds[0].activation_bytes = 100;
  profile.kinds[1].activation_bytes = 200, profile.kinds[1].checkpoint_bytes = 200;
  const KindCounts least = SmallestRecompute(profile, {3, 1}, 1, RecomputePolicy::kAuto);
  EXPECT_EQ(least, (KindCounts{3, 0}));
  EXPECT_EQ(LeastAllocated(profile, {3, 1}, 1, RecomputePolicy::kAuto),
            MemoryOf(profile, {3, 1}, least, 1).allocated());
}

}  // namespace
}  // namespace evenkeel::planner
