// Compares with HBP's tables (arXiv 2503.07680), on the mix of long_mix.h, whose lengths follow the
// published description: which groups are chosen, how packs come out, and the predicted savings.
// The cost model's constants and the mix use nothing of these tables except what is stated there.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "planner/baselines/batching_methods.h"
#include "planner/groups/grouped_search.h"
#include "planner/packing/pack_dataset.h"
#include "tests/planner/jobs.h"
#include "tests/planner/long_mix.h"

namespace evenkeel::planner {
namespace {

const LongMix& Mix() {
  static const LongMix mix = MakeLongMix();
  return mix;
}

struct Outcome {
  std::vector<int64_t> lengths, degrees;
  std::vector<BatchingBaseline> ways;
  const BatchingBaseline& Way(BatchingMethod method) const {
    for (const BatchingBaseline& way : ways)
      if (way.method == method) return way;
    return ways.back();
  }
  // Returns how much less time this plan takes.
  double SpeedUp(BatchingMethod method) const {
    return Way(method).gpu_days / ways.back().gpu_days;
  }
};

Outcome Planned(const Job& job) {
  const LengthClasses classes(job);
  const GroupedSearchResult found = SearchGroups(job, classes, {});
  Outcome outcome;
  EXPECT_FALSE(found.runs.empty());
  for (const GroupRun& run : found.runs) {
    outcome.lengths.push_back(run.data.batching.rule.token_cap);
    outcome.degrees.push_back(run.candidate.parallelism.context);
  }
  outcome.ways = BatchingBaselines(job, classes, found, {});
  return outcome;
}

void Print(const char* title, const Outcome& outcome) {
  std::printf("%s: groups", title);
  for (size_t g = 0; g < outcome.lengths.size(); ++g)
    std::printf(" %ld (SP %ld)", outcome.lengths[g], outcome.degrees[g]);
  std::printf("\n  %-22s %9s %9s %7s %7s %7s %9s\n", "", "GPU-days", "speed-up", "DBR", "ABR", "CR",
              "Ave-T");
  const char* names[] = {"ISF, one group", "sorted", "FlexSP", "groups, random",
                         "groups, balanced"};
  for (const BatchingBaseline& way : outcome.ways) {
    std::printf("  %-22s %9.2f %9.2f %7.4f %7.4f %7.3f %9.0f\n",
                names[static_cast<size_t>(way.method)], way.gpu_days, outcome.SpeedUp(way.method),
                way.dist_ratio_tokens, way.dist_ratio_attention, way.communication_ratio,
                way.mean_rank_tokens);
  }
}

// Tables 5, 6, 11 and 12: {16K, 128K} with SP {1, 8}; ISF 5.22 GPU-days, FlexSP 4.35, hierarchical
// 4.51, balanced 3.73.
TEST(HbpTest, Llama8B) {
  const Outcome outcome = Planned(HbpJob("llama3-8b", ZeroStage::kOptimizer, Mix()));
  Print("Llama-3.1-8B, 32 H100, ZeRO-1", outcome);
  EXPECT_EQ(outcome.lengths, (std::vector<int64_t>{16384, 131072}));
  EXPECT_EQ(outcome.degrees, (std::vector<int64_t>{1, 8}));
  EXPECT_NEAR(outcome.SpeedUp(BatchingMethod::kNaivePacking), 1.40, .1 * 1.40);
  EXPECT_NEAR(outcome.SpeedUp(BatchingMethod::kFlexSp), 4.35 / 3.73, .1 * 4.35 / 3.73);
  EXPECT_NEAR(outcome.Way(BatchingMethod::kNaivePacking).dist_ratio_attention, .506, .05);
  EXPECT_NEAR(outcome.Way(BatchingMethod::kFlexSp).communication_ratio, .171, .015);
  EXPECT_NEAR(outcome.ways.back().communication_ratio, .173, .01);
}

// Table 5, speed-ups over ISF. They depend on the length of the long samples. Those of the mix have
// 72K tokens on average, set by the published CR before anything was packed; the published mean
// length of all samples (.9K) implies 24K to 70K. If their lengths are uniform in the logarithm
// (54K), three of four speed-ups are within 10%. On the mix itself, those under ZeRO-3 are not: its
// ranks meet in every layer, so a rank's packs do not compensate for each other.
struct SpeedUpRow {
  const char* name;
  const char* model;
  ZeroStage stage;
  double published;
  // The head's gathered weights leave no room for 128K tokens on 8 ranks. On 16, one group is
  // better balanced than the published one, so that there is less to gain.
  bool wide = false;
};
constexpr SpeedUpRow kSpeedUps[] = {
    {"Llama-3.1-8B", "llama3-8b", ZeroStage::kOptimizer, 1.40},
    {"Qwen2.5-32B", "qwen2.5-32b", ZeroStage::kWeights, 1.33},
    {"Llama-3.1-70B", "llama3-70b", ZeroStage::kWeights, 1.43},
    {"Qwen2.5-72B", "qwen2-72b", ZeroStage::kWeights, 1.40, /*wide=*/true}};

TEST(HbpTest, SpeedUpsOverOneGroup) {
  LongMixParameters parameters;
  parameters.log_uniform = true;
  const LongMix light = MakeLongMix(parameters);
  for (const SpeedUpRow& row : kSpeedUps) {
    const Outcome outcome = Planned(HbpJob(row.model, row.stage, Mix()));
    Print(row.name, outcome);
    const Outcome less = Planned(HbpJob(row.model, row.stage, light));
    Print("  with long samples of 54K", less);
    const double speed_up = outcome.SpeedUp(BatchingMethod::kNaivePacking),
                 least = less.SpeedUp(BatchingMethod::kNaivePacking);
    std::printf("%s: speed-up %.2f, with shorter long samples %.2f, published %.2f\n", row.name,
                speed_up, least, row.published);
    EXPECT_EQ(outcome.degrees.back(), row.wide ? 16 : 8);
    EXPECT_NEAR(least, row.published, (row.wide ? .16 : .1) * row.published);
    if (!row.wide) {
      EXPECT_NEAR(less.Way(BatchingMethod::kNaivePacking).dist_ratio_attention, .506, .01);
    }
    EXPECT_GE(speed_up, (row.wide ? .84 : .9) * row.published);
    EXPECT_LE(speed_up, 1.4 * row.published);
  }
}

// Table 5: 2.4 on 256 H100 under Megatron with samples up to 32K. Degrees, expert parallelism and
// batch of that run are not published. Under a plan that is free in all of them, ISF is predicted
// to lose far less. docs/ALGORITHMS.md says what is known about the gap.
TEST(HbpTest, DeepSeekV2IsFarFromPublished) {
  LongMixParameters chat;
  chat.long_samples = 0;
  Job job = TextJob("deepseek-v2-236b", "h100-sxm-80gb", 256);
  job.cluster.inter_node_bytes_per_second = 50e9;
  job.dataset = LongMixDataset(MakeLongMix(chat));
  job.constraints.context_parallel = job.constraints.expert_parallel = {1, 0};
  job.training.order_window = 1'000'000'000;
  job.training.group_selection = GroupSelection::kPublished;
  job.training.global_batch_samples = 256 * 16384 * 4 / 800;
  const Outcome outcome = Planned(job);
  Print("DeepSeek-V2, 256 H100", outcome);
  EXPECT_GT(outcome.SpeedUp(BatchingMethod::kNaivePacking), 1.15);
}

// Compares a plan's figures of packs with those of packing by its groups.
TEST(HbpTest, PlansKnowTheirPacks) {
  const Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, Mix());
  const LengthClasses classes(job);
  const GroupedSearchResult found = SearchGroups(job, classes, {});
  PackingJob packing;
  for (const GroupRun& run : found.runs) {
    const Parallelism& p = run.candidate.parallelism;
    packing.groups.push_back({.longest = classes.lengths()[run.group.to],
                              .caps = {kNoUnitCap, run.data.batching.rule.token_cap},
                              .context = p.context,
                              .ranks = p.data,
                              .packs_per_rank = run.candidate.micro_batches});
  }
  packing.deal.window = 0;
  packing.times = found.runs.front().data.batching.rule.pack_times;
  const PackingResult result = PackAndDeal(Mix().lengths(), packing);
  const BatchingBaseline said = BatchingBaselines(job, classes, found, {}).back();
  for (size_t g = 0; g < found.runs.size(); ++g) {
    const double packs = static_cast<double>(result.groups.of[g].packs);
    EXPECT_NEAR(static_cast<double>(found.runs[g].data.packs), packs, .01 * packs) << g;
  }
  EXPECT_NEAR(said.communication_ratio, result.groups.communication_ratio, .005);
  EXPECT_NEAR(said.dist_ratio_attention, result.balance.dist_ratio_attention, .01);
  EXPECT_NEAR(said.dist_ratio_tokens, result.balance.dist_ratio_tokens, .01);
}

// Tests the packs of the whole mix. Table 6 has ABR .002 and CR .173.
TEST(HbpTest, PacksOfTheMix) {
  PackingJob job;
  job.groups = {{.longest = 16384, .caps = {kNoUnitCap, 16384}, .context = 1, .ranks = 32},
                {.longest = 131072, .caps = {kNoUnitCap, 131072}, .context = 8, .ranks = 4}};
  job.deal.window = 0;
  const PackingResult result = PackAndDeal(Mix().lengths(), job);
  const double share = TokenShareAbove(Mix(), 16384);
  std::printf("packs: DBR %.5f ABR %.5f CR %.4f = %.4f x the share of tokens in long samples\n",
              result.balance.dist_ratio_tokens, result.balance.dist_ratio_attention,
              result.groups.communication_ratio, result.groups.communication_ratio / share);
  EXPECT_EQ(result.packing.members.size(), Mix().tokens.size());
  EXPECT_TRUE(result.packing.rejected.empty());
  EXPECT_EQ(result.pad_ratio, 0);
  EXPECT_LE(result.balance.dist_ratio_tokens, .001);
  EXPECT_LE(result.balance.dist_ratio_attention, .002);
  EXPECT_LE(result.groups.communication_ratio, 1.02 * share);
}

}  // namespace
}  // namespace evenkeel::planner
