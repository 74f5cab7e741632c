#include "planner/partition/methods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/partition/certified_search.h"
#include "planner/partition/step_costs.h"
#include "planner/simulate/equal_packs.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kMethodsPack{.units = 9, .tokens = 4096, .squared = 4096.0 * 2048};
constexpr int64_t kMethodPacks = 14;

struct Quickstart {
  explicit Quickstart(int64_t stages, RecomputePolicy policy = RecomputePolicy::kAuto)
      : p{.tensor = 2, .pipeline = stages, .data = 16 / stages} {
    job.constraints.recompute = policy;
    profile = BuildLayerProfile(job, p, kMethodsPack, kMethodsPack);
  }
  SegmentTable Table() const { return SegmentTable(job, profile, p, kMethodPacks); }
  Job job = QuickstartJob();
  Parallelism p;
  LayerProfile profile;
};

int64_t Step(const SegmentTable& table, const std::vector<int64_t>& cut) {
  StepCosts costs(table);
  std::vector<StageTimes> stages;
  for (size_t s = 0; s + 1 < cut.size(); ++s)
    stages.push_back(costs.At(static_cast<int64_t>(s), cut[s], cut[s + 1]));
  return EqualPacks().Step(stages, table.micro_batches());
}

TEST(PartitionByTest, ExactIsNoSlowerThanAnyOther) {
  for (const RecomputePolicy policy : {RecomputePolicy::kAuto, RecomputePolicy::kFull}) {
    const Quickstart quickstart(4, policy);
    const SegmentTable table = quickstart.Table();
    const int64_t exact = Step(table, PartitionBy(PartitionMethod::kExact, table, nullptr));
    for (const PartitionMethod method :
         {PartitionMethod::kBmp, PartitionMethod::kLayers, PartitionMethod::kProfile}) {
      const std::vector<int64_t> cut = PartitionBy(method, table, nullptr);
      ASSERT_EQ(cut.size(), 5u);
      EXPECT_LE(exact, Step(table, cut));
    }
  }
}

// Layers per stage of a text model, cut by a method.
std::vector<int64_t> LayersBy(PartitionMethod method, const Job& job, int64_t stages) {
  const Parallelism p{.pipeline = stages, .data = job.cluster.gpu_count / stages};
  const LayerProfile profile = BuildLayerProfile(job, p, kMethodsPack, kMethodsPack);
  const SegmentTable table(job, profile, p, kMethodPacks);
  const std::vector<int64_t> cut = PartitionBy(method, table, nullptr);
  std::vector<int64_t> layers;
  for (size_t s = 0; s + 1 < cut.size(); ++s) {
    layers.push_back(0);
    for (int64_t i = cut[s]; i < cut[s + 1]; ++i)
      layers.back() += IsTransformerLayer(profile.at(i).kind) ? 1 : 0;
  }
  return layers;
}

// The stages that nanotron printed for a model of 24 layers in its benchmark of July 2024
// (tests/validation/runs/nanotron-bench.json).
TEST(PartitionByTest, WeightsAreNanotronsOwnCut) {
  Job job = TextJob("llama-2-7b", "h100-sxm-80gb", 8);
  LanguageModel& model = job.model.language_model;
  model.layers = 24, model.hidden = 2048, model.ffn = 4096, model.vocab = 50257;
  model.heads = model.kv_heads = 32, model.head_dim = 64;
  const auto layers = [&](int64_t stages) {
    return LayersBy(PartitionMethod::kWeights, job, stages);
  };
  EXPECT_EQ(layers(1), (std::vector<int64_t>{24}));
  EXPECT_EQ(layers(2), (std::vector<int64_t>{14, 10}));
  EXPECT_EQ(layers(4), (std::vector<int64_t>{7, 7, 6, 4}));
  // nanotron's last stage has the head alone, which the contract cannot say.
  EXPECT_TRUE(layers(8).empty());
  // A head without weight: only the strict comparison leaves the stages uneven.
  model.vocab = 0;
  EXPECT_EQ(layers(4), (std::vector<int64_t>{7, 6, 6, 5}));
}

TEST(PartitionByTest, TheRemainderGoesWhereTheMethodSays) {
  Job job = TextJob("llama-2-7b", "a100-sxm-80gb", 8);
  job.model.language_model.layers = 30;
  EXPECT_EQ(LayersBy(PartitionMethod::kLayers, job, 4), (std::vector<int64_t>{8, 8, 7, 7}));
  EXPECT_EQ(LayersBy(PartitionMethod::kLayersLast, job, 4), (std::vector<int64_t>{7, 7, 8, 8}));
  EXPECT_EQ(LayersBy(PartitionMethod::kLayersLast, job, 5), (std::vector<int64_t>(5, 6)));
}

TEST(PartitionByTest, ProfileMakesTheSlowestStageQuickest) {
  const Quickstart quickstart(4);
  const SegmentTable table = quickstart.Table();
  const auto slowest = [&](const std::vector<int64_t>& cut) {
    int64_t most = 0;
    for (int64_t s = 0; s < 4; ++s) {
      const int64_t i = cut[static_cast<size_t>(s)], j = cut[static_cast<size_t>(s) + 1];
      if (table.StageTime(s, i, j) >= kNoPlan) return kNoPlan;
      const int64_t send = 2 * table.SendTime(s, j);
      most = std::max({most, table.StageTime(s, i, j) - send, send});
    }
    return most;
  };
  int64_t least = kNoPlan;
  for (int64_t a = 1; a < table.size(); ++a) {
    for (int64_t b = a + 1; b < table.size(); ++b) {
      for (int64_t c = b + 1; c < table.size(); ++c) {
        if (table.LeastTime(0, 0, a) >= least + 2 * table.SendTime(0, a)) break;
        least = std::min(least, slowest({0, a, b, c, table.size()}));
      }
    }
  }
  EXPECT_EQ(slowest(PartitionBy(PartitionMethod::kProfile, table, nullptr)), least);
}

// Follows the published procedure word by word: makes and ranks all candidates, and runs the best.
TEST(BmpTest, SameAsTryingAllCandidates) {
  for (const int64_t radius : {1, 2}) {
    const Quickstart quickstart(4, RecomputePolicy::kFull);
    const SegmentTable table = quickstart.Table();
    const LayerProfile& profile = quickstart.profile;
    std::vector<int64_t> anchor{0};
    const int64_t total = table.ForwardBefore(table.size());
    for (int64_t s = 1; s < 4; ++s) {
      int64_t nearest = 0;
      for (int64_t j = 1; j < table.size(); ++j) {
        const auto off = [&](int64_t at) {
          return std::abs(4 * table.ForwardBefore(at) - s * total);
        };
        if (off(j) <= off(nearest)) nearest = j;
      }
      anchor.push_back(nearest);
    }
    std::vector<std::pair<double, std::vector<int64_t>>> ranked;
    for (int64_t a = -radius; a <= radius; ++a) {
      for (int64_t b = -radius; b <= radius; ++b) {
        for (int64_t c = -radius; c <= radius; ++c) {
          const std::vector<int64_t> cut{0, anchor[1] + a, anchor[2] + b, anchor[3] + c,
                                         table.size()};
          double mean = 0, squares = 0, megabytes = 0;
          for (size_t s = 0; s < 4; ++s) {
            const double ms =
                static_cast<double>(table.ForwardBefore(cut[s + 1]) - table.ForwardBefore(cut[s])) *
                1e-6;
            mean += ms / 4, squares += ms * ms / 4;
            if (s < 3)
              megabytes += static_cast<double>(profile.at(cut[s + 1] - 1).mean_output_bytes) * 1e-6;
          }
          ranked.emplace_back(squares - mean * mean + megabytes, cut);
        }
      }
    }
    ASSERT_EQ(static_cast<int64_t>(ranked.size()),
              (2 * radius + 1) * (2 * radius + 1) * (2 * radius + 1));
    std::sort(ranked.begin(), ranked.end());
    int64_t least = kNoPlan;
    for (size_t i = 0; i < 15; ++i) least = std::min(least, Step(table, ranked[i].second));
    EXPECT_EQ(Step(table, BmpPartition(table, {.radius = radius})), least);
  }
}

TEST(BmpTest, ManyStagesAreNoTrouble) {
  const Quickstart quickstart(16);
  const SegmentTable table = quickstart.Table();
  const std::vector<int64_t> cut = BmpPartition(table, {.radius = 3});
  ASSERT_EQ(cut.size(), 17u);
  EXPECT_TRUE(std::is_sorted(cut.begin(), cut.end()));
}

}  // namespace
}  // namespace evenkeel::planner
