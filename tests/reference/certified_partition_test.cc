// Compares the certified partition and its bounds with brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/random.h"
#include "planner/partition/certified_search.h"
#include "planner/partition/even_bound.h"
#include "planner/simulate/equal_packs.h"
#include "planner/simulate/pipeline.h"
#include "tests/reference/brute_force_partition.h"
#include "tests/reference/naive_step.h"
#include "tests/reference/small_instance.h"

namespace evenkeel::planner::reference {
namespace {

constexpr int64_t kMega = 1'000'000;

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(bound)));
  }
  bool Chance(int64_t one_in) { return Below(one_in) == 0; }

 private:
  Random random_;
};

struct Instance {
  std::string chain;
  Job job;
  LayerProfile profile;
  Parallelism p;
  int64_t micro_batches = 1;

  std::string Describe() const {
    return chain + " P=" + std::to_string(p.pipeline) + " D=" + std::to_string(p.data) +
           " m=" + std::to_string(micro_batches);
  }
};

// Draws a layer with memory in megabytes, so that syncing weights takes about as long as a layer.
SmallLayer RandomLayer(Dice& dice, bool alike) {
  SmallLayer layer{.forward = dice.Below(alike ? 3 : 20),
                   .backward = dice.Below(alike ? 5 : 40),
                   .weights = dice.Below(6),
                   .activation = 2 + dice.Below(20),
                   .checkpoint = dice.Below(3),
                   .workspace = dice.Below(6),
                   .output_bytes = dice.Chance(3) ? 0 : dice.Below(3) * kMega / 2};
  for (int64_t parts = dice.Below(3); parts > 0; --parts)
    layer.parts.push_back(
        {dice.Below(layer.forward + 1), dice.Below(layer.activation), dice.Below(9)});
  return layer;
}

Instance RandomInstance(Dice& dice, int64_t most_layers) {
  Instance made;
  const int64_t encoder = dice.Below(4), moe = dice.Below(3);
  const int64_t dense = 1 + dice.Below(std::max<int64_t>(1, most_layers - encoder - moe - 1));
  if (encoder > 0) made.chain = "P" + std::string(static_cast<size_t>(encoder), 'e') + "j";
  made.chain +=
      "t" + LanguageLetters(dense, moe, [&](int64_t most) { return dice.Below(most); }) + "H";
  std::vector<SmallLayer> costs;
  const bool alike = dice.Chance(3);
  for (int k = 0; k < 7; ++k) costs.push_back(RandomLayer(dice, alike));
  made.profile = MakeProfile(made.chain, costs);
  for (LayerCost& kind : made.profile.classes) {
    kind.weight_bytes *= kMega, kind.gradient_bytes *= kMega;
    if (dice.Below(2) == 0) kind.update_bytes = dice.Below(30) * kMega;
    kind.trained_parameters *= dice.Chance(5) ? 0 : kMega;
    if (dice.Chance(3)) {
      kind.made_bytes = std::exchange(kind.gradient_bytes, 0);
      kind.end_workspace_bytes = dice.Below(30) * kMega;
    }
    for (RecomputeMode& mode : kind.modes) mode.kept_bytes *= kMega, mode.workspace_bytes *= kMega;
    // Gradients that take the place of activations: several modes keep equally much.
    const int64_t gradients = dice.Chance(4) ? dice.Below(12) * kMega : 0;
    for (RecomputeMode& mode : kind.modes) mode.kept_bytes = std::max(mode.kept_bytes, gradients);
  }
  const int64_t spare = dice.Chance(3) ? 20'000 : 40 + dice.Below(400);
  made.job =
      MakeJob(spare * kMega, dice.Chance(6) ? RecomputePolicy::kFull : RecomputePolicy::kAuto);
  if (dice.Chance(3)) made.job.training.zero_stage = ZeroStage::kNone;
  Execution& execution = made.job.training.execution;
  execution.overlap_gradient_reduce = execution.overlap_weight_gather = dice.Chance(2);
  made.job.constants.bucket_parameters = static_cast<double>((1 + dice.Below(8)) * kMega);
  made.job.constants.bucket_parameters_per_rank = 0;
  made.p = {.tensor = 1 + dice.Below(2),
            .pipeline = 1 + dice.Below(std::min<int64_t>(5, made.profile.transformer_layers)),
            .data = 1 + dice.Below(3)};
  made.micro_batches = 1 + dice.Below(12);
  return made;
}

// Checks one instance. Returns whether anything fits.
bool Compare(const Instance& made, Dice& dice) {
  const SegmentTable table(made.job, made.profile, made.p, made.micro_batches);
  const auto best = BestStep(made.job, made.profile, made.p, made.micro_batches);
  const CertifiedPartition found = CertifyPartition(table, {}, {}, nullptr);
  EXPECT_EQ(found.end, best ? CertifiedEnd::kOptimal : CertifiedEnd::kUnfit) << made.Describe();
  const int64_t bound = StepLowerBound(table, kNoPlan);
  if (!best) {
    EXPECT_EQ(bound, kNoPlan);
    return false;
  }
  EXPECT_EQ(found.step_ns, best->step_ns) << made.Describe();
  EXPECT_EQ(found.lower_bound_ns, best->step_ns) << made.Describe();
  EXPECT_TRUE(CutsAllowed(made.job, made.profile, found.boundaries));
  EXPECT_LE(bound, best->step_ns) << made.Describe();
  // Checks the proof under a limit, and when work runs out.
  const int64_t limit = best->step_ns - 20'000 + dice.Below(40'000);
  EXPECT_LE(std::min(limit, StepLowerBound(table, limit)), best->step_ns);
  const CertifiedPartition limited = CertifyPartition(table, {}, {.step_ns = limit}, nullptr);
  EXPECT_EQ(limited.lower_bound_ns, std::min(limit, best->step_ns)) << made.Describe();
  if (limit > best->step_ns) {
    EXPECT_EQ(limited.step_ns, best->step_ns);
  }
  const CertifiedPartition hurried =
      CertifyPartition(table, {}, {.events = dice.Below(60)}, nullptr);
  EXPECT_LE(hurried.lower_bound_ns, best->step_ns) << made.Describe();
  EXPECT_GE(hurried.step_ns, best->step_ns) << made.Describe();
  EXPECT_EQ(hurried.end == CertifiedEnd::kOptimal, hurried.lower_bound_ns == hurried.step_ns);
  return true;
}

TEST(CertifiedReferenceTest, ThousandsOfSmallPartitions) {
  Dice dice(41);
  int64_t fit = 0;
  for (int trial = 0; trial < 6'000; ++trial) {
    const Instance made = RandomInstance(dice, 10);
    fit += Compare(made, dice) ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << trial;
  }
  EXPECT_GT(fit, 3'000);
}

TEST(CertifiedReferenceTest, LargerOnesThatNeedBranching) {
  Dice dice(53);
  int64_t branched = 0;
  for (int trial = 0; trial < 300; ++trial) {
    Instance made = RandomInstance(dice, 13);
    made.p.pipeline = std::min<int64_t>(4 + dice.Below(2), made.profile.transformer_layers);
    Compare(made, dice);
    ASSERT_FALSE(HasFailure()) << trial;
    const SegmentTable table(made.job, made.profile, made.p, made.micro_batches);
    branched += CertifyPartition(table, {}, {}, nullptr).nodes > 5 ? 1 : 0;
  }
  EXPECT_GT(branched, 30);
}

TEST(CertifiedReferenceTest, BoundsAreNearlyTight) {
  Dice dice(43);
  double gaps = 0;
  int64_t fit = 0;
  for (int trial = 0; trial < 1'000; ++trial) {
    const Instance made = RandomInstance(dice, 10);
    const SegmentTable table(made.job, made.profile, made.p, made.micro_batches);
    const CertifiedPartition found = CertifyPartition(table, {}, {}, nullptr);
    if (found.end != CertifiedEnd::kOptimal || found.step_ns == 0) continue;
    gaps += 1 - static_cast<double>(StepLowerBound(table, kNoPlan)) /
                    static_cast<double>(found.step_ns);
    ++fit;
  }
  ASSERT_GT(fit, 500);
  RecordProperty("mean_gap", std::to_string(gaps / static_cast<double>(fit)));
  EXPECT_LT(gaps / static_cast<double>(fit), 0.06);
}

TEST(EvenBoundReferenceTest, IsABoundAndNoLooserThanEvenStages) {
  Dice dice(59);
  double gaps = 0;
  int64_t fit = 0;
  for (int trial = 0; trial < 4'000; ++trial) {
    Instance made = RandomInstance(dice, 10);
    if (dice.Chance(4)) made.micro_batches = 10 + dice.Below(60);
    for (LayerCost& kind : made.profile.classes) kind.trained_parameters = 0;  // only the pipeline
    const SegmentTable table(made.job, made.profile, made.p, made.micro_batches);
    const CertifiedPartition found = CertifyPartition(table, {}, {}, nullptr);
    EvenChain chain{.work_ns = table.WorkBefore(table.size())};
    for (int64_t i = 0; i < table.size(); ++i) {
      const int64_t layer = table.WorkBefore(i + 1) - table.WorkBefore(i);
      chain.longest_layer_ns = std::max(chain.longest_layer_ns, layer);
    }
    if (made.p.pipeline > 1) chain.least_send_ns = table.SendTime(0, 1);
    for (int64_t s = 0; s + 1 < made.p.pipeline; ++s) {
      for (int64_t j = 1; j <= table.size(); ++j)
        chain.least_send_ns = std::min(chain.least_send_ns, table.SendTime(s, j));
    }
    const int64_t m = made.micro_batches, bound = EvenBound(chain, made.p.pipeline, m);
    if (m > made.p.pipeline) {
      const int64_t work = table.WorkBefore(table.size());
      ASSERT_GE(bound, (m - 1) * work / made.p.pipeline + work - 10) << made.Describe();
    }
    if (found.end != CertifiedEnd::kOptimal || found.step_ns == 0) continue;
    ASSERT_LE(bound, found.step_ns) << made.Describe();
    gaps += 1 - static_cast<double>(bound) / static_cast<double>(found.step_ns);
    ++fit;
  }
  EXPECT_GT(fit, 2'000);
  EXPECT_LT(gaps / static_cast<double>(fit), 0.25);  // few layers that all differ: far from even
}

TEST(EqualPacksReferenceTest, AgreesWithEventSimulationAndDefinition) {
  Dice dice(47);
  EqualPacks simulation;
  for (int trial = 0; trial < 20'000; ++trial) {
    const int64_t m = dice.Chance(10) ? 1 + dice.Below(300) : 1 + dice.Below(20);
    std::vector<StageTimes> stages;
    std::vector<NaiveStage> naive;
    PipelineSpec spec;
    const bool uneven = dice.Chance(2);
    for (int64_t s = dice.Below(9); s >= 0; --s) {
      stages.push_back({.forward = dice.Below(uneven ? 50 : 3),
                        .backward = dice.Below(uneven ? 90 : 4),
                        .send = dice.Below(uneven ? 20 : 2)});
      const StageTimes& stage = stages.back();
      naive.push_back({stage.forward, stage.backward, stage.send});
      spec.forward_ns.push_back(stage.forward);
      spec.backward_ns.push_back(stage.backward);
      spec.send_ns.push_back(stage.send);
    }
    const std::vector<int64_t>& ends = simulation.Run(stages, m);
    spec.shape.stages = static_cast<int64_t>(stages.size());
    spec.shape.micro_batches = m;
    ASSERT_EQ(*std::max_element(ends.begin(), ends.end()), PipelineEnd(spec)) << trial;
    if (trial % 10 == 0) {
      ASSERT_EQ(ends, LastBackwards(naive, m)) << trial;
    }
  }
}

// Stages whose rates differ by little use up their margins over many packs. Rounds are skipped up
// to that point, again and again.
TEST(EqualPacksReferenceTest, SkipsRoundsOfSlowlyChangingRhythm) {
  Dice dice(48);
  EqualPacks simulation;
  int64_t passes = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int64_t m = 1'000 + dice.Below(3'000);
    std::vector<StageTimes> stages;
    std::vector<NaiveStage> naive;
    for (int64_t s = 1 + dice.Below(6); s >= 0; --s) {
      stages.push_back({.forward = 300 + dice.Below(3),
                        .backward = 600 + dice.Below(3),
                        .send = dice.Below(200)});
      naive.push_back({stages.back().forward, stages.back().backward, stages.back().send});
    }
    ASSERT_EQ(simulation.Run(stages, m), LastBackwards(naive, m)) << trial;
    passes += 2 * m * static_cast<int64_t>(stages.size());
  }
  EXPECT_LT(simulation.events(), passes / 20);
}

// Long runs of packs are shortened once the pipeline has found its rhythm.
TEST(EqualPacksReferenceTest, ManyPacksCostLittleMore) {
  std::vector<StageTimes> stages(8, {.forward = 100, .backward = 200, .send = 3});
  stages[4].backward = 230;
  EqualPacks few, many;
  const int64_t step = few.Run(stages, 1000).front();
  EXPECT_EQ(many.Run(stages, 2000).front() - step, 1000 * 330);
  EXPECT_EQ(many.events(), few.events());
  EXPECT_LT(many.events(), 8 * 500);
}

}  // namespace
}  // namespace evenkeel::planner::reference
