// tests/reference tests exactness; this file has cases worked out by hand.
#include "planner/recompute/least_recompute.h"

#include <gtest/gtest.h>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

LayerProfile TwoKinds() {
  LayerProfile profile;
  LayerCost encoder{.kind = LayerKind::kEncoder};
  encoder.forward_ns = 10, encoder.weight_bytes = 5;
  encoder.modes = {
      {.kept_bytes = 8, .workspace_bytes = 1},
      {.parts = kWholeLayer, .repeated_ns = 10, .kept_bytes = 2, .workspace_bytes = 9}};
  LayerCost dense{.kind = LayerKind::kDense};
  dense.forward_ns = 4, dense.weight_bytes = 7;
  dense.modes = {{.kept_bytes = 5, .workspace_bytes = 3},
                 {.parts = kWholeLayer, .repeated_ns = 4, .kept_bytes = 1, .workspace_bytes = 8}};
  profile.classes = {encoder, dense};
  return profile;
}

// Recomputes `layers` of the kinds' last modes.
ModeCounts Whole(const LayerProfile& profile, const std::vector<int64_t>& layers) {
  ModeCounts counts{};
  for (size_t k = 0; k < layers.size(); ++k)
    counts[k][profile.classes[k].modes.size() - 1] = layers[k];
  return counts;
}

TEST(MemoryOfTest, AddsUpByHand) {
  const LayerProfile profile = TwoKinds();
  const StageBytes none = MemoryOf(profile, {2, 3}, {}, 4);
  EXPECT_EQ(none.static_bytes, 2 * 5 + 3 * 7);
  EXPECT_EQ(none.activation_bytes, 4 * (2 * 8 + 3 * 5));
  EXPECT_EQ(none.workspace_bytes, 3);
  const StageBytes some = MemoryOf(profile, {2, 3}, Whole(profile, {1, 0}), 4);
  EXPECT_EQ(some.activation_bytes, 4 * (8 + 2 + 3 * 5));
  EXPECT_EQ(some.workspace_bytes, 9);
  EXPECT_EQ(some.allocated(), 31 + 100 + 9);
}

TEST(MemoryOfTest, ChunksAddUpButForTheWorkspace) {
  const LayerProfile profile = TwoKinds();
  const std::vector<ChunkLoad> chunks{{{2, 0}, 5}, {{0, 3}, 3}};
  const std::vector<ModeCounts> recomputed{Whole(profile, {1, 0}), Whole(profile, {0, 3})};
  const StageBytes memory = MemoryOf(profile, chunks, recomputed);
  EXPECT_EQ(memory.static_bytes, 2 * 5 + 3 * 7);
  EXPECT_EQ(memory.activation_bytes, 5 * (8 + 2) + 3 * 3 * 1);
  EXPECT_EQ(memory.workspace_bytes, 9);
}

TEST(LeastRecomputeTest, NoneWhereEverythingFits) {
  const auto choice = LeastRecompute(TwoKinds(), {{2, 3}, 4}, 1000, RecomputePolicy::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->recomputed, ModeCounts{});
  EXPECT_EQ(choice->recompute_ns, 0);
}

TEST(LeastRecomputeTest, TakesTheCheaperKindFirst) {
  // With nothing recomputed, it takes 158. One dense layer saves 4 x 4 and adds 5 of workspace.
  const LayerProfile profile = TwoKinds();
  EXPECT_EQ(MemoryOf(profile, {2, 3}, {}, 4).allocated(), 158);
  const auto choice = LeastRecompute(profile, {{2, 3}, 4}, 147, RecomputePolicy::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->recomputed, Whole(profile, {0, 1}));
  EXPECT_EQ(choice->recompute_ns, 4);
  EXPECT_EQ(LeastRecompute(profile, {{2, 3}, 4}, 146, RecomputePolicy::kAuto)->recompute_ns, 8);
}

TEST(LeastRecomputeTest, TakesAPartWhereThatDoes) {
  LayerProfile profile = TwoKinds();
  RecomputeMode core{.parts = kCoreAttention, .repeated_ns = 1, .kept_bytes = 4};
  core.workspace_bytes = 4;
  profile.classes[1].modes.insert(profile.classes[1].modes.begin() + 1, core);
  // Each dense layer's core attention saves 4 and takes 1. The whole layer saves 16 and takes 4.
  const auto parts = LeastRecompute(profile, {{2, 3}, 4}, 151, RecomputePolicy::kAuto);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->recomputed[1], (std::array<int32_t, kModesAtMost>{0, 2, 0}));
  EXPECT_EQ(parts->recompute_ns, 2);
  const auto whole = LeastRecompute(profile, {{2, 3}, 4}, 151, RecomputePolicy::kWholeLayers);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->recomputed[1], (std::array<int32_t, kModesAtMost>{0, 0, 1}));
}

TEST(LeastRecomputeTest, ChunksAreWeighedByWhatTheyHold) {
  // The chunk with more packs in flight saves more per layer for the same time.
  const LayerProfile profile = TwoKinds();
  const std::vector<ChunkLoad> chunks{{{0, 3}, 2}, {{0, 3}, 6}};
  const int64_t all =
      MemoryOf(profile, chunks, std::vector<ModeCounts>(2)).allocated() + 5;  // the workspace
  const auto choice = LeastRecompute(profile, chunks, all - 24, RecomputePolicy::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->recomputed, (std::vector<ModeCounts>{{}, Whole(profile, {0, 1})}));
}

TEST(LeastRecomputeTest, PoliciesAreGiven) {
  const LayerProfile profile = TwoKinds();
  EXPECT_FALSE(LeastRecompute(profile, {{2, 3}, 4}, 157, RecomputePolicy::kForbidden));
  EXPECT_TRUE(LeastRecompute(profile, {{2, 3}, 4}, 158, RecomputePolicy::kForbidden));
  const auto full = LeastRecompute(profile, {{2, 3}, 4}, 1000, RecomputePolicy::kFull);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->recomputed, Whole(profile, {2, 3}));
  EXPECT_FALSE(LeastRecompute(profile, {{2, 3}, 4}, 20, RecomputePolicy::kFull));
}

TEST(LeastRecomputeTest, OneKindAloneMayBeSmallest) {
  // Recomputing dense layers costs more workspace than it saves with one pack in flight.
  LayerProfile profile = TwoKinds();
  profile.classes[0].modes[0].kept_bytes = 100, profile.classes[0].modes[1].workspace_bytes = 101;
  profile.classes[1].modes[0].kept_bytes = 200, profile.classes[1].modes[1].kept_bytes = 200;
  profile.classes[1].modes[1].workspace_bytes = 203;
  const ModeCounts least = SmallestRecompute(profile, {{3, 1}, 1}, RecomputePolicy::kAuto);
  EXPECT_EQ(least, Whole(profile, {3, 0}));
  EXPECT_EQ(LeastAllocated(profile, {{3, 1}, 1}, RecomputePolicy::kAuto),
            MemoryOf(profile, {3, 1}, least, 1).allocated());
}

TEST(AdaptiveRecomputeTest, StopsAsManyLayersAsTheFreeMemoryAllows) {
  const LayerProfile profile = TwoKinds();
  // With all recomputed: 31 + 4 * (2 * 2 + 3 * 1) + 9 = 68. An encoder layer saves 24, a dense one
  // 16.
  EXPECT_EQ(MemoryOf(profile, {2, 3}, Whole(profile, {2, 3}), 4).allocated(), 68);
  const auto adaptive = [&](int64_t allocatable) {
    return LeastRecompute(profile, {{2, 3}, 4}, allocatable, RecomputePolicy::kAdaptive);
  };
  EXPECT_FALSE(adaptive(67));
  EXPECT_EQ(adaptive(68)->recomputed, Whole(profile, {2, 3}));
  EXPECT_EQ(adaptive(68 + 23)->recomputed, Whole(profile, {2, 2}));  // front first, if it fits
  EXPECT_EQ(adaptive(68 + 24 + 16)->recomputed, Whole(profile, {1, 2}));
  EXPECT_EQ(adaptive(1000)->recomputed, ModeCounts{});
  // It never takes less time than the least.
  for (int64_t allocatable = 68; allocatable < 180; ++allocatable) {
    const auto least = LeastRecompute(profile, {{2, 3}, 4}, allocatable, RecomputePolicy::kAuto);
    EXPECT_GE(adaptive(allocatable)->recompute_ns, least->recompute_ns);
    EXPECT_LE(MemoryOf(profile, {2, 3}, adaptive(allocatable)->recomputed, 4).allocated(),
              allocatable);
  }
}

}  // namespace
}  // namespace evenkeel::planner
