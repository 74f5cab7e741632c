// Compares modules in host memory with virtual stages with brute force: every set of modules,
// recompute and cut of small models, with memory counted pass by pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/base/units.h"
#include "planner/cost/memory.h"
#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "planner/packing/batch_rule.h"
#include "planner/simulate/step_simulation.h"
#include "planner/space/offload.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner::reference {
namespace {

constexpr Parallelism kDegrees = {.pipeline = 2, .virtual_stages = 2};

// The bytes that one GPU of a stage holds of the packs in flight, at the fullest moments of its own
// memory and of its host's.
struct Peaks {
  int64_t gpu = 0, host = 0;
};

Peaks PeaksOf(const PipelineShape& shape, int64_t stage, const std::vector<int64_t>& kept,
              const std::vector<int64_t>& on_host) {
  Peaks most;
  int64_t gpu = 0, host = 0;
  for (const Pass& pass : StageOrder(shape, stage)) {
    const size_t chunk = static_cast<size_t>(pass.chunk);
    const int64_t sign = pass.kind == PassKind::kForward ? 1 : -1;
    gpu += sign * kept[chunk], host += sign * on_host[chunk];
    most = {std::max(most.gpu, gpu), std::max(most.host, host)};
  }
  return most;
}

// Calls `seen` with every cut that leaves each segment a transformer layer.
void ForCuts(const LayerProfile& profile,
             const std::function<void(const std::vector<int64_t>&)>& seen) {
  const size_t segments = static_cast<size_t>(kDegrees.pipeline * kDegrees.virtual_stages);
  std::vector<int64_t> cut{0};
  const std::function<void()> extend = [&] {
    const bool last = cut.size() == segments;
    bool own = false;
    for (int64_t end = cut.back() + 1; end <= profile.size(); ++end) {
      own = own || IsTransformerLayer(profile.at(end - 1).kind);
      if (!own || (last && end < profile.size())) continue;
      cut.push_back(end);
      last ? seen(cut) : extend();
      cut.pop_back();
    }
  };
  extend();
}

// One set of modules with one recompute.
class Choice {
 public:
  Choice(const Job& asking, const Batching& batching, int64_t micro_batches, OffloadModules modules,
         const RecomputeSetting& beside)
      : job_(WithModules(asking, modules, modules, beside)),
        shape_(ShapeOf(kDegrees, Schedule::kInterleaved, micro_batches)),
        profile_(BuildLayerProfile(job_, kDegrees, batching.mean, batching.largest)) {}

  Peaks Held(const std::vector<int64_t>& cut, int64_t stage) const {
    std::vector<int64_t> kept, on_host;
    for (int64_t c = 0; c < shape_.chunks; ++c) {
      kept.push_back(0), on_host.push_back(0);
      const size_t segment = static_cast<size_t>(shape_.virtual_stage(stage, c));
      for (int64_t i = cut[segment]; i < cut[segment + 1]; ++i) {
        kept.back() += ModeOf(profile_.at(i)).kept_bytes;
        on_host.back() += profile_.at(i).host_kept_bytes;
      }
    }
    return PeaksOf(shape_, stage, kept, on_host);
  }

  // Returns the least bytes of the fullest stage.
  int64_t Needs() const {
    int64_t least = std::numeric_limits<int64_t>::max();
    ForCuts(profile_, [&](const std::vector<int64_t>& cut) {
      least = std::min(least, std::max(Allocated(cut, 0), Allocated(cut, 1)));
    });
    return least;
  }

  // Returns the step of the cut, or nullopt if it does not fit.
  std::optional<int64_t> StepOf(const std::vector<int64_t>& cut) const {
    for (int64_t s = 0; s < shape_.stages; ++s)
      if (!Fits(cut, s)) return std::nullopt;
    const bool all = job_.constraints.recompute == RecomputePolicy::kFull;
    std::vector<ModeCounts> recomputed;
    for (size_t k = 0; k + 1 < cut.size(); ++k) {
      ClassCounts counts{};
      for (int64_t i = cut[k]; i < cut[k + 1]; ++i)
        ++counts[static_cast<size_t>(profile_.chain[static_cast<size_t>(i)])];
      recomputed.push_back(all ? AllRecomputed(profile_, counts) : ModeCounts{});
    }
    return MeanPackStep(job_, kDegrees, shape_,
                        WorkOfSegments(job_, profile_, kDegrees, cut, recomputed))
        .total_ns();
  }

  const LayerProfile& profile() const { return profile_; }

 private:
  const RecomputeMode& ModeOf(const LayerCost& layer) const {
    return job_.constraints.recompute == RecomputePolicy::kFull ? layer.modes.back()
                                                                : layer.modes.front();
  }

  int64_t Allocated(const std::vector<int64_t>& cut, int64_t stage) const {
    const Peaks held = Held(cut, stage);
    int64_t fixed = 0, workspace = 0, update = 0;
    for (int64_t c = 0; c < shape_.chunks; ++c) {
      const size_t segment = static_cast<size_t>(shape_.virtual_stage(stage, c));
      for (int64_t i = cut[segment]; i < cut[segment + 1]; ++i) {
        fixed += profile_.at(i).static_bytes();
        update += profile_.at(i).update_bytes;
        workspace = std::max(workspace, ModeOf(profile_.at(i)).workspace_bytes);
      }
    }
    return fixed + std::max(held.gpu + workspace, update);
  }

  bool Fits(const std::vector<int64_t>& cut, int64_t stage) const {
    int64_t host = Held(cut, stage).host;
    for (int64_t c = 0; c < shape_.chunks; ++c) {
      const size_t segment = static_cast<size_t>(shape_.virtual_stage(stage, c));
      for (int64_t i = cut[segment]; i < cut[segment + 1]; ++i) host += profile_.at(i).host_bytes;
    }
    return host <= profile_.host_room && Allocated(cut, stage) <= AllocatableBytes(job_);
  }

  const Job job_;
  const PipelineShape shape_;
  const LayerProfile profile_;
};

Job RandomJob(Random& random) {
  const char* const gpus[] = {"h100-sxm-80gb", "gh200-96gb", "a100-sxm-40gb", "a100-sxm-80gb"};
  const bool moe = random.Below(2) == 0;
  Job job = LongTextJob(moe ? "mixtral-8x7b" : "llama3-8b", gpus[random.Below(4)], 2,
                        int64_t{4096} << random.Below(4));
  LanguageModel& m = job.model.language_model;
  m.layers = 4 + static_cast<int64_t>(random.Below(moe ? 3 : 5)), m.runs = {};
  if (moe) m.moe->expert_ffn = 1024 << random.Below(2);
  job.training.execution.grouped_experts = moe;
  job.training.global_batch_samples = 2 * (1 + static_cast<int64_t>(random.Below(8)));
  FixDegrees(job, 1, kDegrees.pipeline, 1);
  job.constraints.virtual_stages = {kDegrees.virtual_stages, kDegrees.virtual_stages};
  job.constraints.context_parallel = job.constraints.expert_parallel = {1, 1};
  job.cluster.host_link_bytes_per_second = 5e9 * static_cast<double>(int64_t{1} << random.Below(7));
  job.cluster.host_memory_bytes_per_second = 1e12;
  job.cluster.host_memory_bytes =
      static_cast<int64_t>(random.Below(3) == 0 ? 20 + random.Below(40) : 400) * kGiB;
  if (random.Below(3) > 0) job.constraints.recompute = RecomputePolicy::kForbidden;
  // Gives GPUs a part of the memory that stages need beyond the least.
  const Batching batching = MakeBatching(job);
  const int64_t packs = job.training.global_batch_samples;
  Job asking = job;
  AskModuleOffload(0, &asking);
  asking.constraints.recompute = RecomputePolicy::kForbidden;
  const OffloadModules all = OffloadModulesOf(job);
  const double least = D(Choice(asking, batching, packs, all, {}).Needs());
  const double most = D(Choice(asking, batching, packs, 0, {}).Needs());
  const double given = least + (most - least) * (D(random.Below(12)) - 1) / 10;
  job.cluster.reserved_bytes =
      std::max<int64_t>(0, Nearest(1.043 * (D(AllocatableBytes(job)) - given)));
  return job;
}

// That of the choice (StepToBeat), and the rounding of a batch.
constexpr double kTolerance = 1.0045;

TEST(ChunkedModulesReferenceTest, ChoiceIsThatOfBruteForce) {
  Random random(5);
  int fit = 0, chosen = 0, short_of_host = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Job job = RandomJob(random);
    Job asking = job;
    AskModuleOffload(0, &asking);
    const Plan plan = CheckedPlan(asking);
    const Batching batching = MakeBatching(job);
    const int64_t m = job.training.global_batch_samples;
    std::optional<int64_t> best;
    for (const RecomputeSetting& beside : SettingsBesideModules(job)) {
      const OffloadModules may = ModulesBeside(OffloadModulesOf(job), beside);
      for (OffloadModules modules = may; modules != 0; modules = (modules - 1) & may) {
        if (WithoutUnmetNeeds(modules) != modules) continue;
        const Choice choice(asking, batching, m, modules, beside);
        ForCuts(choice.profile(), [&](const std::vector<int64_t>& cut) {
          const std::optional<int64_t> step = choice.StepOf(cut);
          if (step && (!best || *step < *best)) best = step;
        });
      }
    }
    if (!best) {
      short_of_host += plan.misfit && plan.misfit->host_short_bytes > 0 ? 1 : 0;
      EXPECT_EQ(plan.fits() ? plan.offload->modules : 0u, 0u) << trial;
      continue;
    }
    ++fit;
    ASSERT_TRUE(plan.fits()) << trial;
    EXPECT_LE(D(plan.offload->step_ns), kTolerance * D(*best)) << trial;
    if (plan.offload->modules == 0) continue;
    ++chosen;
    EXPECT_GE(D(plan.offload->step_ns), (1 - 1e-6) * D(*best)) << trial;
  }
  EXPECT_GT(fit, 60);
  EXPECT_GT(chosen, 20);
  EXPECT_GT(short_of_host, 5);
}

// With two chunks of two layers on both stages, stage 0 holds 2 (P - 1) + (v - 1) P + 1 = 5 passes
// and stage 1 holds 3.
TEST(ChunkedModulesReferenceTest, EvenChunksHoldTheirPasses) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 2, 8192);
  job.model.language_model.layers = 8;
  FixDegrees(job, 1, 2, 1);
  job.constraints.virtual_stages = {2, 2};
  job.training.global_batch_samples = 8;
  job.constraints.recompute = RecomputePolicy::kForbidden;
  const OffloadModules modules = kOffloadQkv | kOffloadCoreAttention;
  AskModuleOffload(modules, &job);
  job = WithModules(job, modules, modules, {});
  PlanSpec even;
  even.parallelism = kDegrees;
  even.schedule = Schedule::kInterleaved;
  for (int chunk = 0; chunk < 4; ++chunk)
    even.chunks.push_back({{{.kind = LayerKind::kDense, .count = 2}}});
  const Evaluation evaluated = EvaluatePlan(job, even);
  ASSERT_TRUE(evaluated.faults.empty()) << evaluated.faults.front().message;
  const LanguageModel& m = job.model.language_model;
  const int64_t rows = 2 * 8192;  // bytes of a 16-bit value in each
  const int64_t layer = rows * (2 * m.hidden + m.heads * m.head_dim + 2 * m.kv_heads * m.head_dim);
  EXPECT_EQ(evaluated.plan.stages[0].offloaded_activation_bytes, 5 * 2 * layer);
  EXPECT_EQ(evaluated.plan.stages[1].offloaded_activation_bytes, 3 * 2 * layer);
}

}  // namespace
}  // namespace evenkeel::planner::reference
