// Compares the searches with their brute-force twin: every small instance, then random larger ones.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/cost/memory.h"
#include "planner/partition/partition_search.h"
#include "planner/partition/segment_table.h"
#include "planner/recompute/least_recompute.h"
#include "tests/reference/brute_force_partition.h"
#include "tests/reference/small_instance.h"

namespace evenkeel::planner::reference {
namespace {

constexpr RecomputePolicy kPolicies[] = {RecomputePolicy::kAuto, RecomputePolicy::kForbidden,
                                         RecomputePolicy::kFull, RecomputePolicy::kWholeLayers};

// Four characters of layers: cheap, slow, large, and one whose recompute hardly pays.
const SmallLayer kTempers[] = {
    {.forward = 1, .backward = 2, .weights = 1, .activation = 2, .checkpoint = 1},
    {.forward = 5, .backward = 1, .weights = 2, .activation = 5, .checkpoint = 1, .workspace = 2},
    {.forward = 2, .backward = 5, .weights = 5, .activation = 5, .output_bytes = 1'000'000},
    {.forward = 1, .backward = 1, .activation = 2, .checkpoint = 2, .output_bytes = 50'000},
};

int64_t RecomputedLayerCount(const ModeCounts& recomputed) {
  int64_t layers = 0;
  for (const auto& modes : recomputed)
    for (size_t q = 1; q < modes.size(); ++q) layers += modes[q];
  return layers;
}

std::string Describe(const Job& job, const Parallelism& p, int64_t m, const std::string& chain) {
  return chain + " P=" + std::to_string(p.pipeline) + " m=" + std::to_string(m) +
         " policy=" + std::to_string(static_cast<int>(job.constraints.recompute)) +
         " allocatable=" + std::to_string(AllocatableBytes(job.cluster));
}

// Returns the difference between the search and brute force; empty if they agree.
std::string Difference(const Job& job, const LayerProfile& profile, const Parallelism& p,
                       int64_t m) {
  const SegmentTable table(job, profile, p, m);
  const PartitionSearchResult found = FindPartition(table, m, nullptr);
  const std::optional<BruteForcePartition> best = BestPartition(job, profile, p, m);
  if (found.stopped) return "stopped";
  if (found.best.has_value() != best.has_value()) {
    return best ? "brute force fits, the search does not" : "the search fits, brute force does not";
  }
  if (!best) return "";
  if (found.best->closed_form_ns != best->closed_form_ns) {
    return std::to_string(found.best->closed_form_ns) + " found, " +
           std::to_string(best->closed_form_ns) + " is best";
  }
  const Partition& own = *found.best;
  int64_t slowest = 0, sum = 0;
  for (int64_t s = 0; s < p.pipeline; ++s) {
    const int64_t time = table.StageTime(s, own.boundaries[static_cast<size_t>(s)],
                                         own.boundaries[static_cast<size_t>(s) + 1]);
    slowest = std::max(slowest, time), sum += time;
  }
  if (!CutsAllowed(job, profile, own.boundaries)) return "cuts are not allowed";
  if (slowest != own.slowest_ns || sum != own.sum_ns) return "value is not that of the boundaries";
  return "";
}

// Lists all choices of costs for a chain with this many kinds.
std::vector<std::vector<SmallLayer>> CostChoices(size_t kinds) {
  std::vector<std::vector<SmallLayer>> choices{{}};
  for (size_t k = 0; k < kinds; ++k) {
    std::vector<std::vector<SmallLayer>> longer;
    for (const std::vector<SmallLayer>& start : choices) {
      for (const SmallLayer& temper : kTempers) {
        longer.push_back(start);
        longer.back().push_back(temper);
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

size_t Kinds(const std::string& chain) {
  std::string letters = chain;
  std::sort(letters.begin(), letters.end());
  return static_cast<size_t>(std::unique(letters.begin(), letters.end()) - letters.begin());
}

// Returns the number of instances compared.
int64_t CompareAll(const std::string& chain, const std::vector<int64_t>& stage_layers) {
  int64_t compared = 0;
  for (const std::vector<SmallLayer>& costs : CostChoices(std::min<size_t>(3, Kinds(chain)))) {
    const LayerProfile profile = MakeProfile(chain, costs);
    for (const RecomputePolicy policy : kPolicies) {
      for (const int64_t spare : {1000, 40, 25, 17, 11}) {
        Job job = MakeJob(spare, policy);
        job.constraints.stage_layers = stage_layers;
        const int64_t most = std::min<int64_t>(4, profile.transformer_layers);
        for (int64_t stages = 1; stages <= most; ++stages) {
          if (!stage_layers.empty() && static_cast<int64_t>(stage_layers.size()) != stages)
            continue;
          for (const int64_t m : {1, 2, 4, 9}) {
            const Parallelism p{.tensor = 1, .pipeline = stages, .data = 1};
            const std::string difference = Difference(job, profile, p, m);
            ++compared;
            EXPECT_EQ(difference, "") << Describe(job, p, m, chain);
            if (!difference.empty()) return compared;
          }
        }
      }
    }
  }
  return compared;
}

TEST(PartitionReferenceTest, EverySmallChain) {
  int64_t compared = 0;
  for (const char* chain :
       {"d", "dd", "dddd", "ddddddd", "dddm", "ddmmm", "eedd", "edm", "eeddmm", "edddmmm", "dmdm",
        "mdmdd", "tddH", "tdddddH", "PejtddH", "eejtddH", "PeejtdH"}) {
    compared += CompareAll(chain, {});
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 10'000);
}

TEST(PartitionReferenceTest, EveryGivenPartition) {
  for (const std::vector<int64_t>& layers :
       {std::vector<int64_t>{4}, {1, 3}, {2, 2}, {3, 1}, {1, 1, 2}, {2, 1, 1}, {1, 1, 1, 1}}) {
    for (const char* chain : {"PeejtddH", "eeejtdH", "tddmmH"}) CompareAll(chain, layers);
  }
}

TEST(PartitionReferenceTest, MoreStagesThanTransformerLayersFitNowhere) {
  const LayerProfile profile = MakeProfile("PejtdH", {kTempers[0]});
  const Job job = MakeJob(1000, RecomputePolicy::kAuto);
  for (const int64_t stages : {3, 6, 7, 20}) {
    EXPECT_EQ(Difference(job, profile, {.pipeline = stages}, 4), "");
    const SegmentTable table(job, profile, {.pipeline = stages}, 4);
    EXPECT_FALSE(FindPartition(table, 4, nullptr).best);
  }
}

rc::Gen<int64_t> Among(std::vector<int64_t> values) {
  return rc::gen::elementOf(std::move(values));
}

SmallLayer RandomLayer() {
  const SmallLayer layer{.forward = *rc::gen::inRange<int64_t>(0, 40),
                         .backward = *rc::gen::inRange<int64_t>(0, 80),
                         .weights = *rc::gen::inRange<int64_t>(0, 9),
                         .activation = *rc::gen::inRange<int64_t>(0, 30),
                         .checkpoint = 0,
                         .workspace = *rc::gen::inRange<int64_t>(0, 12),
                         .output_bytes = *Among({0, 1000, 100'000, 5'000'000}),
                         .recomputable = *rc::gen::inRange(0, 8) != 0};
  SmallLayer bounded = layer;
  bounded.checkpoint = *rc::gen::inRange<int64_t>(0, layer.activation + 1);
  for (int64_t parts = *rc::gen::inRange<int64_t>(0, 3); parts > 0; --parts) {
    bounded.parts.push_back({.time = *rc::gen::inRange<int64_t>(0, layer.forward + 1),
                             .kept = *rc::gen::inRange<int64_t>(0, layer.activation + 1),
                             .workspace = *rc::gen::inRange<int64_t>(0, 30)});
  }
  return bounded;
}

std::string RandomChain(int64_t encoder, int64_t dense, int64_t moe) {
  std::string chain;
  if (encoder > 0) {
    chain += "P" + std::string(static_cast<size_t>(encoder), 'e') + "j";
  }
  return chain + "t" + std::string(static_cast<size_t>(dense), 'd') +
         std::string(static_cast<size_t>(moe), 'm') + "H";
}

LayerProfile RandomProfile(std::string* chain) {
  *chain = RandomChain(*rc::gen::inRange<int64_t>(0, 7), *rc::gen::inRange<int64_t>(1, 7),
                       *rc::gen::inRange<int64_t>(0, 4));
  std::vector<SmallLayer> costs;
  for (int k = 0; k < 7; ++k) costs.push_back(RandomLayer());
  return MakeProfile(*chain, costs);
}

RC_GTEST_PROP(PartitionReferenceTest, RandomLargerChains, ()) {
  std::string chain;
  const LayerProfile profile = RandomProfile(&chain);
  const Job job = MakeJob(*rc::gen::inRange<int64_t>(0, 600), kPolicies[*rc::gen::inRange(0, 4)]);
  const Parallelism p{.tensor = *Among({1, 2}),
                      .pipeline = *rc::gen::inRange<int64_t>(
                          1, std::min<int64_t>(5, profile.transformer_layers) + 1),
                      .data = *Among({1, 2, 3})};
  const int64_t m = *Among({1, 2, 3, 4, 7, 16, 100});
  const std::string difference = Difference(job, profile, p, m);
  if (!difference.empty()) RC_FAIL(difference + ": " + Describe(job, p, m, chain));
}

RC_GTEST_PROP(RecomputeReferenceTest, LeastRecomputeAndSmallestMemory, ()) {
  std::string chain;
  const LayerProfile profile = RandomProfile(&chain);
  const Job job = MakeJob(*rc::gen::inRange<int64_t>(0, 900), kPolicies[*rc::gen::inRange(0, 4)]);
  const int64_t begin = *rc::gen::inRange<int64_t>(0, profile.size());
  const int64_t end = *rc::gen::inRange<int64_t>(begin + 1, profile.size() + 1);
  const int64_t in_flight = *Among({1, 2, 3, 8});
  ClassCounts counts{};
  for (int64_t i = begin; i < end; ++i)
    ++counts[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
  const int64_t allocatable = AllocatableBytes(job.cluster);
  const RecomputePolicy policy = job.constraints.recompute;
  const auto own = LeastRecompute(profile, {counts, in_flight}, allocatable, policy);
  const auto best = CheapestRecompute(job, profile, begin, end, in_flight);
  RC_ASSERT(own.has_value() == best.has_value());
  const int64_t least = LeastAllocated(profile, {counts, in_flight}, policy);
  RC_ASSERT(least == SmallestMemory(job, profile, begin, end, in_flight));
  RC_ASSERT(own.has_value() == (least <= allocatable));
  if (!own) return;
  RC_ASSERT(own->recompute_ns == best->time_ns);
  RC_ASSERT(RepeatedTime(profile, own->recomputed) == best->time_ns);
  RC_ASSERT(RecomputedLayerCount(own->recomputed) == best->layers);
  RC_ASSERT(MemoryOf(profile, counts, own->recomputed, in_flight).allocated() <= allocatable);
}

// Draws few packs and slow links, so that the best is often neither the least sum nor the least
// bottleneck, but something in between.
TEST(PartitionReferenceTest, ThousandsOfTradesBetweenSumAndBottleneck) {
  Random random(17);
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random.Below(bound)); };
  int64_t between = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    const std::string chain = RandomChain(below(4), 2 + below(4), below(3));
    std::vector<SmallLayer> costs;
    for (int k = 0; k < 7; ++k) {
      costs.push_back({.forward = below(20),
                       .backward = below(30),
                       .weights = below(6),
                       .activation = 4 + below(20),
                       .checkpoint = below(4),
                       .output_bytes = below(2'000'000)});
    }
    const LayerProfile profile = MakeProfile(chain, costs);
    const Job job = MakeJob(60 + below(300), RecomputePolicy::kAuto);
    const Parallelism p{.pipeline =
                            2 + below(std::min<uint64_t>(
                                    3, static_cast<uint64_t>(profile.transformer_layers) - 1))};
    const int64_t m = 2 + below(3);
    ASSERT_EQ(Difference(job, profile, p, m), "") << Describe(job, p, m, chain);
    const SegmentTable table(job, profile, p, m);
    const PartitionSearchResult best = FindPartition(table, m, nullptr);
    if (!best.best) continue;
    const Partition least_sum = *FindPartition(table, 1, nullptr).best;
    const Partition least_bottleneck = *FindPartition(table, 1'000'000, nullptr).best;
    if (best.best->slowest_ns > least_bottleneck.slowest_ns &&
        best.best->sum_ns > least_sum.sum_ns) {
      ++between;
    }
  }
  EXPECT_GT(between, 20);
}

// Draws many equal layers, each with several ways to recompute it. A real stage has this shape, but
// the figures are invented.
TEST(RecomputeReferenceTest, ThousandsOfStagesWithParts) {
  Random random(23);
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random.Below(bound)); };
  int64_t mixed = 0, found = 0;
  for (int trial = 0; trial < 4'000; ++trial) {
    std::vector<SmallLayer> costs;
    for (int k = 0; k < 2; ++k) {
      SmallLayer layer{
          .forward = 20 + below(80), .weights = below(9), .activation = 60 + below(90)};
      layer.checkpoint = below(10);
      for (int64_t parts = below(4); parts > 0; --parts)
        layer.parts.push_back({below(60), 10 + below(90), below(100)});
      costs.push_back(layer);
    }
    const LayerProfile profile =
        MakeProfile(std::string(static_cast<size_t>(1 + below(6)), 'e') +
                        std::string(static_cast<size_t>(1 + below(6)), 'd'),
                    costs);
    const int64_t in_flight = 1 + below(4);
    const Job job = MakeJob(200 + below(600) * in_flight, RecomputePolicy::kAuto);
    ClassCounts counts{};
    for (const int kind : profile.chain) ++counts[static_cast<size_t>(kind)];
    const auto own = LeastRecompute(profile, {counts, in_flight}, AllocatableBytes(job.cluster),
                                    RecomputePolicy::kAuto);
    const auto best = CheapestRecompute(job, profile, 0, profile.size(), in_flight);
    ASSERT_EQ(own.has_value(), best.has_value());
    if (!own) continue;
    ASSERT_EQ(own->recompute_ns, best->time_ns);
    ASSERT_EQ(RecomputedLayerCount(own->recomputed), best->layers);
    ++found;
    int64_t modes = 0;
    for (const auto& kind : own->recomputed) {
      for (const int64_t layers : kind) modes += layers > 0 ? 1 : 0;
    }
    mixed += modes > 1 ? 1 : 0;
  }
  EXPECT_GT(found, 2'000);
  EXPECT_GT(mixed, 500);
}

TEST(RecomputeReferenceTest, TiesGoToFewerLayersThenToTheLaterKind) {
  // Either kind saves enough; both take 2 ticks.
  LayerProfile profile = MakeProfile("ed", {{.forward = 2, .activation = 9, .checkpoint = 0},
                                            {.forward = 2, .activation = 9, .checkpoint = 0}});
  const ClassCounts counts = {1, 1};
  const int64_t all = MemoryOf(profile, counts, {}, 2).allocated();
  const auto choice = LeastRecompute(profile, {counts, 2}, all - 5, RecomputePolicy::kAuto);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->recomputed[0][1], 0);
  EXPECT_EQ(choice->recomputed[1][1], 1);
  // One slow layer or two quick ones take the same time. The single layer is chosen.
  profile = MakeProfile("eed", {{.forward = 1, .weights = 0, .activation = 4, .checkpoint = 0},
                                {.forward = 2, .weights = 0, .activation = 8, .checkpoint = 0}});
  const auto one = LeastRecompute(profile, {{2, 1}, 4}, 4 * 8 + 8, RecomputePolicy::kAuto);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->recomputed[0][1], 0);
  EXPECT_EQ(one->recomputed[1][1], 1);
}

}  // namespace
}  // namespace evenkeel::planner::reference
