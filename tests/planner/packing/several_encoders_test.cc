// Packs of samples with units of several encoders.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "planner/base/random.h"
#include "planner/cost/layer_profile.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/deal.h"
#include "planner/packing/dealt_packs.h"
#include "planner/packing/pack_dataset.h"
#include "planner/workload/unit_scales.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// Two encoders that differ in length and width, and samples of any mix of both.
Job TwoColumns(uint64_t seed) {
  Job job = VisionJob("internvit-300m-448px", "llama3-8b", "h100-sxm-80gb", 8);
  EncoderTower second = job.model.towers.front();
  second.encoder.layers = 6;
  second.encoder.tokens_per_unit = 257;
  second.encoder.llm_tokens_per_unit = 64;
  job.model.towers.push_back(second);
  job.dataset = {};
  job.dataset.unit_scales = UnitScalesOf(job.model);
  Random random(seed);
  for (int64_t tiles = 0; tiles < 4; ++tiles) {
    for (int64_t clips = 0; clips < 5; ++clips) {
      PerEncoder<int64_t> units = tiles;
      units[1] = clips;
      job.dataset.bins.push_back({.units = units,
                                  .llm_tokens = 40 + 256 * tiles + 64 * clips,
                                  .count = 1 + static_cast<int64_t>(random.Below(500))});
    }
  }
  return job;
}

TEST(SeveralEncodersPackingTest, SumsOfEachColumnAreThoseOfTheSamples) {
  const std::vector<int32_t> columns = {1, 0, 2, 5, 0, 7}, units = {10, 25, 7},
                             tokens = {100, 200, 300};
  const Lengths lengths{units, tokens, columns};
  Packing packing;
  packing.members = {0, 2, 1};
  packing.offsets = {0, 2, 3};
  const std::vector<PackSums> sums = SumsOf(lengths, packing);
  EXPECT_EQ(sums[0].units, 17);
  EXPECT_EQ(sums[0].encoder_units[0], 1);
  EXPECT_EQ(sums[0].encoder_units[1], 7);
  EXPECT_EQ(sums[1].encoder_units[0], 2);
  EXPECT_EQ(sums[1].encoder_units[1], 5);
}

TEST(SeveralEncodersPackingTest, NoUnitIsLostAndCapsHold) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Job job = TwoColumns(seed);
    const Batching batching = MakeBatching(job);
    PackSums all;
    for (const PackSums& pack : batching.packs) {
      EXPECT_EQ(pack.units, pack.encoder_units.Dot(job.dataset.unit_scales));
      EXPECT_LE(pack.units, batching.rule.unit_cap);
      EXPECT_LE(pack.tokens, batching.rule.token_cap);
      for (size_t e = 0; e < 2; ++e)
        EXPECT_LE(static_cast<double>(pack.encoder_units[e]), batching.largest.units[e]);
      all.encoder_units += pack.encoder_units, all.tokens += pack.tokens;
    }
    PerEncoder<int64_t> wanted;
    int64_t tokens = 0;
    for (const LengthBin& bin : job.dataset.bins)
      wanted += bin.count * bin.units, tokens += bin.count * bin.llm_tokens;
    EXPECT_EQ(all.encoder_units, wanted);
    EXPECT_EQ(all.tokens, tokens);
    EXPECT_LE(batching.rule.pack_lower_bound, static_cast<int64_t>(batching.packs.size()));
  }
}

// The time of a pack is the sum over its columns, so packs that are level in scaled units and
// tokens are level in time, within the rounding of the scales.
TEST(SeveralEncodersPackingTest, PacksAreLevelInTime) {
  const Job job = TwoColumns(7);
  const Batching batching = MakeBatching(job);
  double least = 1e30, most = 0, sum = 0;
  const PackTimes& t = batching.rule.pack_times;
  EXPECT_GT(t.vision_per_unit[0], t.vision_per_unit[1]);
  EXPECT_GT(t.vision_per_unit[1], 0);
  const size_t whole = batching.packs.size() - 1;  // the last pack takes what is left
  for (size_t p = 0; p < whole; ++p) {
    const PackShape s = ShapeOf(batching.packs[p]);
    const double time = t.vision_per_unit.Dot(s.units) + t.language_per_token * s.tokens;
    least = std::min(least, time), most = std::max(most, time), sum += time;
  }
  const double mean = sum / static_cast<double>(whole);
  EXPECT_LT((most - least) / mean, 0.5);
  const DistRatios ratios = DistRatiosOf(DealtPacks(batching, 8, 4), batching.rule, 8, 4);
  EXPECT_LT(ratios.idle, 0.02);
}

// Swapping the encoders, with their columns, changes no cost.
TEST(SeveralEncodersPackingTest, TheOrderOfEncodersDoesNotCount) {
  const Job job = TwoColumns(3);
  Job swapped = job;
  std::swap(swapped.model.towers[0], swapped.model.towers[1]);
  const PackShape mean{[] {
                         PerEncoder<double> units = 6;
                         units[1] = 9;
                         return units;
                       }(),
                       4096, 1e7};
  PackShape other = mean;
  other.units = 9;
  other.units[1] = 6;
  const LayerProfile a = BuildLayerProfile(job, {}, mean, mean);
  const LayerProfile b = BuildLayerProfile(swapped, {}, other, other);
  ASSERT_EQ(a.size(), b.size());
  double forward_a = 0, forward_b = 0;
  int64_t parameters_a = 0, parameters_b = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    forward_a += a.at(i).forward.at(mean), forward_b += b.at(i).forward.at(other);
    parameters_a += a.at(i).parameters, parameters_b += b.at(i).parameters;
  }
  EXPECT_NEAR(forward_a, forward_b, forward_a * 1e-9);
  EXPECT_EQ(parameters_a, parameters_b);
}

// A frozen encoder after a trained one repeats nothing backward: it does not read the other's
// output.
TEST(SeveralEncodersPackingTest, EncodersDoNotReadEachOther) {
  Job job = TwoColumns(1);
  job.model.towers[1].encoder.train = job.model.towers[1].projector.train = TrainMode::kFrozen;
  const PackShape pack{4, 4096, 1e7};
  const LayerProfile profile = BuildLayerProfile(job, {}, pack, pack);
  bool seen = false;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    if (!IsTowerLayer(layer.kind)) {
      EXPECT_TRUE(layer.has_backward);
    } else {
      EXPECT_EQ(layer.has_backward, layer.encoder == 0);
      seen = seen || layer.encoder == 1;
    }
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace evenkeel::planner
