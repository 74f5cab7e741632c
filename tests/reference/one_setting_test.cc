// Compares one recompute setting for a whole model with brute force: every partition under every
// setting, and every choice of degrees with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/random.h"
#include "planner/candidates/bounds.h"
#include "planner/candidates/parallelisms.h"
#include "planner/cost/memory.h"
#include "planner/packing/batch_rule.h"
#include "planner/partition/certified_search.h"
#include "planner/partition/partition_search.h"
#include "planner/search/search.h"
#include "planner/simulate/step_simulation.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"
#include "tests/reference/brute_force_partition.h"
#include "tests/reference/small_instance.h"

namespace evenkeel::planner::reference {
namespace {

constexpr int64_t kMillion = 1'000'000;

class SettingDice {
 public:
  explicit SettingDice(uint64_t seed) : random_(seed) {}
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(bound)));
  }

 private:
  Random random_;
};

struct SettingInstance {
  std::string chain;
  Job job;
  LayerProfile profile;
  Parallelism p;
  int64_t micro_batches = 1;
};

// Draws an instance in which every layer can repeat its norms, its MLP, or all of itself. Memory is
// in megabytes.
SettingInstance RandomSettingInstance(SettingDice& dice) {
  SettingInstance made;
  const int64_t encoder = dice.Below(4), moe = dice.Below(3);
  const int64_t dense = 1 + dice.Below(8 - encoder - moe);
  if (encoder > 0) made.chain = "P" + std::string(static_cast<size_t>(encoder), 'e') + "j";
  made.chain +=
      "t" + LanguageLetters(dense, moe, [&](int64_t most) { return dice.Below(most); }) + "H";
  std::vector<SmallLayer> costs;
  for (int k = 0; k < 7; ++k) {
    SmallLayer layer{.forward = 1 + dice.Below(20),
                     .backward = 1 + dice.Below(40),
                     .weights = dice.Below(6),
                     .activation = 4 + dice.Below(20),
                     .checkpoint = dice.Below(3),
                     .workspace = dice.Below(6),
                     .output_bytes = dice.Below(3) * kMillion / 2};
    for (int part = 0; part < 2; ++part)
      layer.parts.push_back(
          {1 + dice.Below(layer.forward), dice.Below(layer.activation), dice.Below(9)});
    costs.push_back(layer);
  }
  made.profile = MakeProfile(made.chain, costs);
  for (LayerCost& kind : made.profile.classes) {
    kind.weight_bytes *= kMillion, kind.gradient_bytes *= kMillion;
    kind.trained_parameters *= kMillion;
    if (made.chain.size() % 2 == 0) kind.update_bytes = dice.Below(30) * kMillion;
    if (made.chain.size() % 3 == 0) {
      kind.made_bytes = std::exchange(kind.gradient_bytes, 0);
      kind.end_workspace_bytes = dice.Below(30) * kMillion;
    }
    for (RecomputeMode& mode : kind.modes)
      mode.kept_bytes *= kMillion, mode.workspace_bytes *= kMillion;
    // Gradients that take the place of activations: several modes keep equally much.
    const int64_t gradients = dice.Below(4) == 0 ? dice.Below(12) * kMillion : 0;
    for (RecomputeMode& mode : kind.modes) mode.kept_bytes = std::max(mode.kept_bytes, gradients);
    if (kind.recomputable()) kind.modes[1].parts = kNorms, kind.modes[2].parts = kMlp;
  }
  made.job = MakeJob((40 + dice.Below(400)) * kMillion, RecomputePolicy::kOneSetting);
  made.p = {.tensor = 1 + dice.Below(2),
            .pipeline = 1 + dice.Below(std::min<int64_t>(5, made.profile.transformer_layers)),
            .data = 1 + dice.Below(3)};
  made.micro_batches = 1 + dice.Below(12);
  return made;
}

RecomputeSetting RandomSetting(SettingDice& dice) {
  RecomputeSetting setting{.encoder = dice.Below(3) == 0};
  constexpr RecomputeParts kParts[] = {0, kNorms, kMlp};
  switch (dice.Below(3)) {
    case 0:
      setting.dense_parts = kParts[dice.Below(3)], setting.moe_parts = kParts[dice.Below(3)];
      break;
    case 1:
      setting.block = 1 + dice.Below(5);
      break;
    default:
      setting.block = RecomputeSetting::kEveryLayer;
  }
  return setting;
}

TEST(OneSettingReferenceTest, PartitionsUnderASetting) {
  SettingDice dice(83);
  int64_t fit = 0, fit_whole = 0;
  for (int trial = 0; trial < 3'000; ++trial) {
    SettingInstance made = RandomSettingInstance(dice);
    made.profile.setting = RandomSetting(dice);
    // Every second encoder must not be cut.
    const size_t behind = made.chain.find('j') + 1;
    const bool whole = behind > 0 && dice.Below(2) == 0;
    if (whole) made.profile.first_stage_layers = static_cast<int64_t>(behind);
    const SegmentTable table(made.job, made.profile, made.p, made.micro_batches);
    const auto best = BestStep(made.job, made.profile, made.p, made.micro_batches);
    const CertifiedPartition found = CertifyPartition(table, {}, {}, nullptr);
    EXPECT_EQ(found.end, best ? CertifiedEnd::kOptimal : CertifiedEnd::kUnfit) << trial;
    if (!best) continue;
    ++fit;
    if (whole && made.p.pipeline > 1) ++fit_whole;
    EXPECT_EQ(found.step_ns, best->step_ns) << trial << made.chain;
    const auto closed = BestPartition(made.job, made.profile, made.p, made.micro_batches);
    const PartitionSearchResult searched = FindPartition(table, made.micro_batches, nullptr);
    ASSERT_TRUE(closed && searched.best) << trial;
    EXPECT_EQ(searched.best->closed_form_ns, closed->closed_form_ns) << trial;
    const ChainWork work = ChainWorkOf(made.profile);
    const int64_t bound = PipelineBound(work, made.p, Schedule::kOneFOneB, made.micro_batches,
                                        LeastSend(made.job, made.p, work)) +
                          SyncBound(made.job, made.profile, made.p);
    EXPECT_LE(bound, best->step_ns) << trial << made.chain;
    ASSERT_FALSE(HasFailure()) << trial;
  }
  EXPECT_GT(fit, 1'000);
  EXPECT_GT(fit_whole, 200);
}

// Returns every setting that Megatron-Core has for a dense model, with or without an encoder. The
// list is independent of the search.
std::vector<RecomputeSetting> AllSettings(const ModelSpec& model) {
  std::vector<RecomputeSetting> settings;
  for (const RecomputeParts parts : {0u, 0u + kNorms, 0u + kMlp, 0u + kNorms + kMlp})
    settings.push_back({.dense_parts = parts});
  for (int64_t block = 1; block <= model.language_model.layers; ++block) {
    settings.push_back({.block = block});
    if (!model.towers.empty()) settings.push_back({.block = block, .encoder = true});
  }
  return settings;
}

// Makes a job of a few layers on a few GPUs whose memory holds the states and some of the
// activations.
Job SmallJob(SettingDice& dice, bool encoder) {
  const int64_t gpus = int64_t{2} << dice.Below(3);
  Job job = encoder ? VisionJob("internvit-300m-448px", "llama3-8b", "h100-sxm-80gb", gpus)
                    : TextJob("llama3-8b", "h100-sxm-80gb", gpus);
  LanguageModel& model = job.model.language_model;
  model.layers = 4 + dice.Below(7);
  model.hidden = 1024 << dice.Below(3);
  model.ffn = model.hidden * 3;
  model.head_dim = model.hidden / 16;
  model.heads = 16, model.kv_heads = 8;
  model.vocab = 32'000;
  job.training.trainer = FindTrainer("megatron-core");
  job.training.global_batch_samples = int64_t{16} << dice.Below(2);
  job.constraints.recompute = RecomputePolicy::kOneSetting;
  job.constraints.virtual_stages = {1, 1};
  const int64_t tokens = 4096 << dice.Below(3);
  job.dataset.bins = {{0, tokens, 100}};
  if (encoder) {
    model.layers -= 2;
    job.model.towers.front().encoder.layers = 1 + dice.Below(4);
    job.dataset.bins = {{1 + dice.Below(12), tokens, 100}};
  }
  if (dice.Below(2) == 0) job.constraints.data_parallel = {1, 1};
  // The memory holds the states, and a little more than what must be kept.
  int64_t fits = 0, too_much = int64_t{79} << 30;
  while (too_much - fits > int64_t{1} << 20) {
    job.cluster.reserved_bytes = (fits + too_much) / 2;
    (FitsWithPacks(job, MakeBatching(job), nullptr) ? fits : too_much) = job.cluster.reserved_bytes;
  }
  job.cluster.reserved_bytes = fits - dice.Below(40) * (int64_t{1} << 25);
  return job;
}

// Counts what a stage's layers recompute, layer by layer from the front of the stage.
ModeCounts Recomputed(const LayerProfile& profile, int64_t begin, int64_t end) {
  const RecomputeSetting& setting = *profile.setting;
  ModeCounts counts{};
  int64_t whole = setting.block;
  for (int64_t i = begin; i < end; ++i) {
    const size_t kind = static_cast<size_t>(profile.chain[static_cast<size_t>(i)]);
    const LayerCost& layer = profile.classes[kind];
    if (layer.kind == LayerKind::kEncoder && setting.encoder)
      ++counts[kind][layer.modes.size() - 1];
    if (layer.kind != LayerKind::kDense) continue;
    size_t mode = 0;
    if (setting.block > 0) mode = whole-- > 0 ? layer.modes.size() - 1 : 0;
    for (size_t q = 0; q < layer.modes.size(); ++q)
      if (setting.dense_parts != 0 && layer.modes[q].parts == setting.dense_parts) mode = q;
    if (mode > 0) ++counts[kind][mode];
  }
  return counts;
}

// Returns the least step of mean packs over all cuts into stages that fit.
std::optional<int64_t> BestMeanStep(const Job& job, const LayerProfile& profile,
                                    const Parallelism& p, int64_t m) {
  std::optional<int64_t> best;
  std::vector<int64_t> cut{0};
  const std::function<void()> extend = [&] {
    const int64_t stage = static_cast<int64_t>(cut.size()) - 1;
    if (stage == p.pipeline) {
      if (cut.back() != profile.size()) return;
      std::vector<ModeCounts> recomputed;
      for (size_t s = 0; s + 1 < cut.size(); ++s) {
        ClassCounts counts{};
        int64_t layers = 0;
        if (s > 0 && profile.at(cut[s]).kind <= LayerKind::kProjector) return;
        for (int64_t i = cut[s]; i < cut[s + 1]; ++i) {
          ++counts[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
          layers += IsTransformerLayer(profile.at(i).kind) ? 1 : 0;
        }
        recomputed.push_back(Recomputed(profile, cut[s], cut[s + 1]));
        const int64_t held = std::min(m, p.pipeline - static_cast<int64_t>(s));
        if (layers == 0 ||
            MemoryOf(profile, counts, recomputed.back(), held).allocated() > AllocatableBytes(job))
          return;
      }
      const int64_t step = MeanPackStep(job, p, ShapeOf(p, Schedule::kOneFOneB, m),
                                        WorkOfSegments(job, profile, p, cut, recomputed))
                               .total_ns();
      if (!best || step < *best) best = step;
      return;
    }
    for (int64_t next = cut.back() + 1; next <= profile.size(); ++next) {
      cut.push_back(next);
      extend();
      cut.pop_back();
    }
  };
  extend();
  return best;
}

// Returns the rank of the best plan over degrees, packs of a rank, settings and cuts.
std::optional<std::pair<double, double>> BestOfAll(const Job& job, const Batching& batching) {
  std::optional<std::pair<double, double>> best;
  const double packs_per_step = batching.packs_per_step(job.training.global_batch_samples);
  for (const Parallelism& p : Parallelisms(job, packs_per_step)) {
    LayerProfile profile = BuildLayerProfile(job, p, batching.mean, batching.largest);
    for (const int64_t m : MicroBatchChoices(packs_per_step, p)) {
      for (const RecomputeSetting& setting : AllSettings(job.model)) {
        profile.setting = setting;
        const auto step = BestMeanStep(job, profile, p, m);
        if (!step) continue;
        const double packs = static_cast<double>(m * p.data);
        const std::pair rank(std::ceil(static_cast<double>(batching.rule.packs) / packs) *
                                 static_cast<double>(*step),
                             static_cast<double>(*step) * packs_per_step / packs);
        if (!best || rank < *best) best = rank;
      }
    }
  }
  return best;
}

struct Met {
  int64_t fit = 0, recomputed = 0, uniform = 0, pipelines = 0, shared = 0;
};

Met NoPlanIsBetter(uint64_t seed, int trials, bool encoder, const Trainer* trainer = nullptr) {
  SettingDice dice(seed);
  Met met;
  for (int trial = 0; trial < trials; ++trial) {
    Job job = SmallJob(dice, encoder);
    if (trainer != nullptr) {
      job.training.trainer = trainer;
      job.constraints.encoder_data = {1 + dice.Below(2), 0};
      if (Parallelisms(job, 1e9).empty()) continue;
    }
    const Batching batching = MakeBatching(job);
    const SearchResult found = Search(job, batching, 0, nullptr);
    const auto best = BestOfAll(job, batching);
    EXPECT_EQ(found.best.empty(), !best) << trial;
    if (found.best.empty() || !best) continue;
    ++met.fit;
    const Candidate& plan = found.best.front();
    if (plan.parallelism.pipeline > 1) ++met.pipelines;
    if (plan.parallelism.encoder_data > 1) ++met.shared;
    EXPECT_TRUE(plan.setting) << trial;
    if (*plan.setting != RecomputeSetting{}) ++met.recomputed;
    if (plan.setting->uniform()) ++met.uniform;
    const double epoch =
        std::ceil(static_cast<double>(batching.rule.packs) /
                  static_cast<double>(plan.micro_batches * plan.parallelism.data)) *
        static_cast<double>(plan.step.total_ns());
    EXPECT_NEAR(epoch / best->first, 1, 1e-6) << trial;
    EXPECT_LE(static_cast<double>(found.proof.lower_bound_ns), best->second * (1 + 1e-9)) << trial;
    if (testing::Test::HasFailure()) return met;
  }
  return met;
}

TEST(OneSettingReferenceTest, NoPlanIsBetterThanTheSearchFinds) {
  const Met met = NoPlanIsBetter(84, 600, /*encoder=*/false);
  EXPECT_GT(met.fit, 500);
  EXPECT_GT(met.recomputed, 400);
  EXPECT_LT(met.uniform, met.fit);
}

TEST(OneSettingReferenceTest, NoPlanWithAWholeEncoderIsBetter) {
  const Met met = NoPlanIsBetter(85, 200, /*encoder=*/true);
  EXPECT_GT(met.fit, 150);
  EXPECT_GT(met.recomputed, 50);
  EXPECT_GT(met.pipelines, 50);
}

TEST(OneSettingReferenceTest, NoPlanThatSharesImagesIsBetter) {
  Trainer trainer = *FindTrainer("megatron-core");
  trainer.encoder_split = EncoderSplit::kAny;
  const Met met = NoPlanIsBetter(86, 150, /*encoder=*/true, &trainer);
  EXPECT_GT(met.fit, 80);
  EXPECT_GT(met.pipelines, 20);
  EXPECT_GT(met.shared, 20);
}

}  // namespace
}  // namespace evenkeel::planner::reference
