#include "planner/cuts/cuts_below.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace evenkeel::planner {
namespace {

using Cut = std::vector<int64_t>;

// Returns a chain of random layers: embedding, transformer layers of two kinds, head.
LayerProfile RandomChain(std::mt19937_64& random, int64_t layers) {
  LayerProfile profile;
  profile.transformer_layers = layers;
  const auto add = [&](LayerKind kind) {
    LayerCost cost;
    cost.kind = kind;
    cost.forward_ns = static_cast<int64_t>(random() % 1000);
    cost.backward_ns = static_cast<int64_t>(random() % 2000);
    profile.classes.push_back(cost);
  };
  add(LayerKind::kTokenEmbedding);
  add(LayerKind::kDense);
  add(LayerKind::kMoe);
  add(LayerKind::kHead);
  profile.chain = {0};
  for (int64_t i = 0; i < layers; ++i) profile.chain.push_back(1 + static_cast<int>(random() % 2));
  profile.chain.push_back(3);
  return profile;
}

int64_t TimeOf(const LayerProfile& profile, int64_t begin, int64_t end) {
  int64_t time = 0;
  for (int64_t i = begin; i < end; ++i)
    time += profile.at(i).forward_ns + profile.at(i).backward_ns;
  return time;
}

// Computes the load by the definition in the header.
int64_t LoadOf(const LayerProfile& profile, const PipelineShape& shape, const Cut& cut) {
  int64_t load = 0, first_chunks = 0;
  for (int64_t s = 0; s < shape.stages; ++s) {
    int64_t of_stage = 0;
    for (size_t k = static_cast<size_t>(s); k + 1 < cut.size();
         k += static_cast<size_t>(shape.stages))
      of_stage += TimeOf(profile, cut[k], cut[k + 1]);
    load = std::max(load, shape.micro_batches * of_stage + first_chunks);
    first_chunks += TimeOf(profile, cut[static_cast<size_t>(s)], cut[static_cast<size_t>(s) + 1]);
  }
  return load;
}

void AddCuts(const LayerProfile& profile, int64_t segments, Cut& cut, std::set<Cut>& cuts) {
  const auto has_layer = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (IsTransformerLayer(profile.at(i).kind)) return true;
    return false;
  };
  if (static_cast<int64_t>(cut.size()) == segments) {
    if (!has_layer(cut.back(), profile.size())) return;
    cut.push_back(profile.size());
    cuts.insert(cut);
    cut.pop_back();
    return;
  }
  for (int64_t end = cut.back() + 1; end < profile.size(); ++end) {
    if (!has_layer(cut.back(), end)) continue;
    cut.push_back(end);
    AddCuts(profile, segments, cut, cuts);
    cut.pop_back();
  }
}

std::set<Cut> AllCuts(const LayerProfile& profile, const PipelineShape& shape) {
  std::set<Cut> cuts;
  Cut cut = {0};
  AddCuts(profile, shape.virtual_stages(), cut, cuts);
  return cuts;
}

struct BelowCase {
  LayerProfile profile;
  PipelineShape shape;
};

BelowCase RandomCase(std::mt19937_64& random) {
  const auto among = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  BelowCase c{.profile = RandomChain(random, among(1, 9)),
              .shape = {.schedule = Schedule::kInterleaved,
                        .stages = among(1, 4),
                        .chunks = among(1, 3),
                        .micro_batches = among(1, 20)}};
  return c;
}

TEST(CutsBelowTest, LeastLoadedCutIsTheLeastOfAllCuts) {
  std::mt19937_64 random(1);
  int64_t compared = 0;
  for (int i = 0; i < 1000; ++i) {
    const BelowCase c = RandomCase(random);
    const std::set<Cut> cuts = AllCuts(c.profile, c.shape);
    const Cut found = LeastLoadedCut(c.profile, c.shape, {});
    ASSERT_EQ(found.empty(), cuts.empty());
    if (cuts.empty()) continue;
    ++compared;
    ASSERT_TRUE(cuts.count(found));
    int64_t least = LoadOf(c.profile, c.shape, *cuts.begin());
    for (const Cut& cut : cuts) least = std::min(least, LoadOf(c.profile, c.shape, cut));
    ASSERT_EQ(LoadOf(c.profile, c.shape, found), least);
  }
  EXPECT_GT(compared, 500);
}

TEST(CutsBelowTest, VisitsEveryCutBelowTheLimitOnceAndNoOther) {
  std::mt19937_64 random(2);
  int64_t compared = 0;
  for (int i = 0; i < 1000; ++i) {
    const BelowCase c = RandomCase(random);
    const std::set<Cut> cuts = AllCuts(c.profile, c.shape);
    if (cuts.empty()) continue;
    const int64_t below = LoadOf(c.profile, c.shape, *cuts.begin());
    std::set<Cut> expected, visited;
    for (const Cut& cut : cuts)
      if (LoadOf(c.profile, c.shape, cut) < below) expected.insert(cut);
    VisitCutsBelow(c.profile, c.shape, below, 1'000'000,
                   [&](const Cut& cut) {
                     EXPECT_TRUE(visited.insert(cut).second);
                     return below;
                   },
                   {});
    ASSERT_EQ(visited, expected);
    compared += expected.empty() ? 0 : 1;
  }
  EXPECT_GT(compared, 200);
}

TEST(CutsBelowTest, TheLimitThatAVisitReturnsHoldsFromThenOn) {
  std::mt19937_64 random(3);
  const LayerProfile profile = RandomChain(random, 12);
  const PipelineShape shape{
      .schedule = Schedule::kInterleaved, .stages = 2, .chunks = 3, .micro_batches = 8};
  int64_t limit = 1'000'000'000;
  VisitCutsBelow(profile, shape, limit, 1'000'000,
                 [&](const Cut& cut) {
                   const int64_t load = LoadOf(profile, shape, cut);
                   EXPECT_LT(load, limit);
                   return limit = load;
                 },
                 {});
  EXPECT_EQ(limit, LoadOf(profile, shape, LeastLoadedCut(profile, shape, {})));
}

TEST(CutsBelowTest, EndsAfterTheVisitsThatItMayMake) {
  std::mt19937_64 random(4);
  const LayerProfile profile = RandomChain(random, 30);
  const PipelineShape shape{
      .schedule = Schedule::kInterleaved, .stages = 4, .chunks = 3, .micro_batches = 8};
  int64_t visits = 0;
  VisitCutsBelow(profile, shape, int64_t{1} << 60, 7,
                 [&](const Cut&) {
                   ++visits;
                   return int64_t{1} << 60;
                 },
                 {});
  EXPECT_EQ(visits, 7);
}

}  // namespace
}  // namespace evenkeel::planner
