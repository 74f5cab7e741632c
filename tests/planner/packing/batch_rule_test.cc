#include "planner/packing/batch_rule.h"
#include "planner/packing/dealt_packs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/base/random.h"
#include "planner/packing/pack_dataset.h"
#include "planner/packing/sample.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Job JobWith(Dataset dataset) {
  Job job = QuickstartJob();
  job.dataset = std::move(dataset);
  return job;
}

TEST(BatchRuleTest, CapsAreDerivedFromTheData) {
  // Samples that are all equal are level in packs of any length, so the shortest length is chosen.
  const Batching b = MakeBatching(JobWith({{{2, 512, 900}}}));
  EXPECT_TRUE(b.rule.caps_derived);
  EXPECT_EQ(b.rule.unit_cap, 2);
  EXPECT_EQ(b.rule.token_cap, 640);  // 1% above the level, rounded up to 128
  EXPECT_EQ(b.rule.keep_units, 2);
  EXPECT_EQ(b.rule.keep_tokens, 640 - 128);
  EXPECT_NE(b.rule.caps_reason, "");
}

TEST(BatchRuleTest, DerivedCapsHoldTheLongestSample) {
  const Batching b = MakeBatching(JobWith({{{1, 300, 100}, {40, 9000, 1}}}));
  EXPECT_GE(b.rule.token_cap, 9000);
  EXPECT_GE(b.rule.unit_cap, 40);
  EXPECT_EQ(b.rule.oversize_samples, 0);
}

TEST(BatchRuleTest, GivenCapsAreHonoured) {
  Job job = JobWith({{{1, 300, 100}, {4, 2000, 10}, {6, 100, 3}}});
  job.training.unit_cap = 5;
  job.training.token_cap = 1500;
  const Batching b = MakeBatching(job);
  EXPECT_FALSE(b.rule.caps_derived);
  EXPECT_EQ(b.rule.unit_cap, 5);
  EXPECT_EQ(b.rule.token_cap, 1500);
  EXPECT_EQ(b.rule.oversize_samples, 13);
  EXPECT_EQ(b.largest.units, 6);
  EXPECT_EQ(b.largest.tokens, 2000);
  job.training.unit_cap = 0;
  EXPECT_TRUE(MakeBatching(job).rule.caps_derived);
  EXPECT_EQ(MakeBatching(job).rule.token_cap, 1500);
}

TEST(BatchRuleTest, TextHasNoUnits) {
  const Batching b = MakeBatching(TextJob("llama3-8b", "a100-sxm-80gb", 8));
  EXPECT_EQ(b.rule.unit_cap, 0);
  EXPECT_EQ(b.mean.units, 0);
  EXPECT_EQ(b.rule.mean_tokens, 4096);
  EXPECT_EQ(b.rule.samples_per_pack, 1);
  EXPECT_EQ(b.rule.packs, 1'000'000);
  EXPECT_EQ(b.baseline_pad_ratio, 0);
}

TEST(BatchRuleTest, MeansAreThoseOfThePacks) {
  const Batching b = MakeBatching(QuickstartJob());
  double units = 0, tokens = 0;
  for (const PackSums& p : b.packs) {
    units += static_cast<double>(p.units), tokens += static_cast<double>(p.tokens);
    EXPECT_LE(p.units, b.rule.unit_cap);
    EXPECT_LE(p.tokens, b.rule.token_cap);
    EXPECT_LE(p.squared, p.tokens * p.tokens);
  }
  const double n = static_cast<double>(b.packs.size());
  EXPECT_DOUBLE_EQ(b.rule.mean_units, units / n);
  EXPECT_DOUBLE_EQ(b.rule.mean_tokens, tokens / n);
  EXPECT_DOUBLE_EQ(b.packs_per_step(512), 512 / b.rule.samples_per_pack);
  EXPECT_GT(b.baseline_pad_ratio, 0.05);
}

// Computes the definition, term by term.
DistRatios DirectDistRatios(const std::vector<PackShape>& packs, size_t data, size_t m,
                            size_t steps) {
  DistRatios sum;
  size_t next = 0;
  for (size_t step = 0; step < steps; ++step) {
    std::vector<double> units(data), tokens(data), squared(data);
    for (size_t r = 0; r < data; ++r) {
      for (size_t k = 0; k < m; ++k) {
        const PackShape& pack = packs[next++ % packs.size()];
        units[r] += pack.units[0], tokens[r] += pack.tokens, squared[r] += pack.squared;
      }
    }
    const auto ratio = [&](const std::vector<double>& x) {
      const double most = *std::max_element(x.begin(), x.end());
      double lost = 0;
      for (const double v : x) lost += most - v;
      return most > 0 ? lost / (most * static_cast<double>(data)) : 0.0;
    };
    sum.units += ratio(units), sum.tokens += ratio(tokens), sum.attention += ratio(squared);
  }
  const double n = static_cast<double>(steps);
  return {sum.units / n, sum.tokens / n, sum.attention / n};
}

TEST(DistRatiosTest, IsTheDefinitionOfDistRatio) {
  Random random(3);
  std::vector<PackShape> packs(700);
  for (PackShape& p : packs) {
    p = {static_cast<double>(random.Below(10)), static_cast<double>(random.Below(4096)),
         static_cast<double>(random.Below(1 << 24))};
  }
  struct Deal {
    int64_t data, micro_batches, steps;
  };
  for (const Deal& d : {Deal{1, 3, 64}, Deal{4, 8, 21}, Deal{8, 100, 1}, Deal{700, 5, 1},
                        Deal{2, 2, 64}, Deal{64, 1, 10}}) {
    const DistRatios own = DistRatiosOf(packs, {}, d.data, d.micro_batches);
    const DistRatios direct =
        DirectDistRatios(packs, static_cast<size_t>(d.data), static_cast<size_t>(d.micro_batches),
                         static_cast<size_t>(d.steps));
    EXPECT_NEAR(own.units, direct.units, 1e-12);
    EXPECT_NEAR(own.tokens, direct.tokens, 1e-12);
    EXPECT_NEAR(own.attention, direct.attention, 1e-12);
  }
}

TEST(DistRatiosTest, EqualPacksAreInBalance) {
  const DistRatios even =
      DistRatiosOf(std::vector<PackShape>(10, PackShape{0, 100, 10'000}), {}, 4, 2);
  EXPECT_EQ(even.units, 0);
  EXPECT_EQ(even.tokens, 0);
  EXPECT_EQ(even.attention, 0);
  EXPECT_EQ(even.idle, 0);
}

// Compares the plan's prediction from a sample with the packing of all of the data.
TEST(BatchRuleTest, TheSampleSpeaksForTheWholeDataset) {
  Dataset dataset = QuickstartJob().dataset;
  for (LengthBin& bin : dataset.bins) bin.count *= 5;
  const int64_t samples = SampleCount(dataset);
  const DrawnSamples all = DrawSamples(dataset, samples);
  for (const Caps& caps : {Caps{9, 4096}, Caps{10, 4096}, Caps{20, 6656}, Caps{38, 11392}}) {
    Job job = JobWith(dataset);
    job.training.unit_cap = caps.units;
    job.training.token_cap = caps.tokens;
    const Batching predicted = MakeBatching(job);
    const PackingResult real =
        PackAndDeal(all.lengths(), {.pack = {.caps = caps},
                                    .deal = {.ranks = 8, .packs_per_rank = 4, .window = 16},
                                    .times = predicted.rule.pack_times});
    const double packs = static_cast<double>(real.packing.size());
    EXPECT_NEAR(static_cast<double>(predicted.rule.packs) / packs, 1, .01);
    EXPECT_NEAR(predicted.rule.samples_per_pack / real.samples_per_pack, 1, .01);
    const DistRatios dist = DistRatiosOf(DealtPacks(predicted, 8, 4), predicted.rule, 8, 4);
    EXPECT_NEAR(dist.units, real.balance.dist_ratio_units, .01);
    EXPECT_NEAR(dist.tokens, real.balance.dist_ratio_tokens, .01);
    EXPECT_NEAR(dist.idle, real.balance.idle, .01);
  }
}

TEST(DistRatiosTest, MillionsOfPacksPerRankTakeNoTime) {
  const DistRatios d = DistRatiosOf({{1, 100, 1e4}, {2, 300, 9e4}}, {}, 3, int64_t{1} << 40);
  EXPECT_LT(d.tokens, 1e-6);
}

// Degrees that share a step's packs share its formed steps, whichever came first.
TEST(PackDealerTest, DealsEachDegreeAsIfItWereAlone) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 32);
  job.dataset.bins.clear();
  for (int64_t tokens = 64; tokens <= 4096; tokens += 64)
    job.dataset.bins.push_back({{}, tokens, 8000});
  const Batching batching = MakeBatching(job);
  PackDealer dealer(batching, {});
  for (const int64_t data : {8, 4, 16, 8, 2}) {
    for (const int64_t micro_batches : {64 / data, 128 / data}) {
      const std::vector<PackShape>& dealt = dealer.Deal(data, micro_batches);
      ASSERT_GT(dealt.size(), 64U);
      EXPECT_TRUE(dealt == DealtPacks(batching, data, micro_batches)) << data;
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner
