// Compares whether a job fits with brute force: every parallelism, cut and way to recompute of
// small models, pass by pass, on GPUs that have just enough memory, and 1 byte less.
#include "planner/explain/misfit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "planner/base/random.h"
#include "planner/candidates/parallelisms.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/make_plan.h"
#include "planner/simulate/schedule.h"
#include "planner/simulate/step_simulation.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

bool Allowed(RecomputePolicy policy, size_t mode, size_t modes) {
  if (policy == RecomputePolicy::kForbidden) return mode == 0;
  if (policy == RecomputePolicy::kFull) return mode + 1 == modes;
  return policy == RecomputePolicy::kAuto || mode == 0 || mode + 1 == modes;
}

// One stage: the chain positions of its chunks. It tries every mode of every kind in every chunk.
// Mixing two modes in one chunk never holds less than the better of the two.
class Stage {
 public:
  Stage(const Job& job, const LayerProfile& profile, const PipelineShape& shape, int64_t stage,
        const std::vector<int64_t>& cut)
      : policy_(job.constraints.recompute), profile_(profile) {
    counts_.resize(static_cast<size_t>(shape.chunks));
    for (int64_t c = 0; c < shape.chunks; ++c) {
      const size_t segment = static_cast<size_t>(shape.virtual_stage(stage, c));
      auto& counts = counts_[static_cast<size_t>(c)];
      counts.assign(profile.classes.size(), 0);
      for (int64_t i = cut[segment]; i < cut[segment + 1]; ++i) {
        ++counts[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
        fixed_ += profile.at(i).static_bytes();
        update_ += profile.at(i).made_bytes + profile.at(i).update_bytes;
        made_ += profile.at(i).made_bytes;
        last_ = std::max(last_, profile.at(i).end_workspace_bytes);
      }
    }
    // Counts the packs held of each chunk, pass by pass.
    std::vector<int64_t> held(counts_.size());
    const PassKind release =
        shape.schedule == Schedule::kZeroBubble ? PassKind::kWeightGradient : PassKind::kBackward;
    for (const Pass& pass : StageOrder(shape, stage)) {
      held[static_cast<size_t>(pass.chunk)] += pass.kind == PassKind::kForward ? 1 : 0;
      held[static_cast<size_t>(pass.chunk)] -= pass.kind == release ? 1 : 0;
      if (std::find(moments_.begin(), moments_.end(), held) == moments_.end())
        moments_.push_back(held);
    }
  }

  int64_t Least() {
    std::vector<int64_t> kept(counts_.size());
    Choose(0, 0, kept, 0);
    return fixed_ + std::max({least_, update_, made_ + last_});
  }

 private:
  void Choose(size_t chunk, size_t kind, std::vector<int64_t>& kept, int64_t workspace) {
    if (chunk == counts_.size()) {
      int64_t most = 0;
      for (const std::vector<int64_t>& held : moments_) {
        int64_t bytes = 0;
        for (size_t c = 0; c < held.size(); ++c) bytes += held[c] * kept[c];
        most = std::max(most, bytes);
      }
      least_ = std::min(least_, most + workspace);
      return;
    }
    if (kind == profile_.classes.size()) return Choose(chunk + 1, 0, kept, workspace);
    const int64_t layers = counts_[chunk][kind];
    if (layers == 0) return Choose(chunk, kind + 1, kept, workspace);
    const std::vector<RecomputeMode>& modes = profile_.classes[kind].modes;
    for (size_t q = 0; q < modes.size(); ++q) {
      if (!Allowed(policy_, q, modes.size())) continue;
      kept[chunk] += layers * modes[q].kept_bytes;
      Choose(chunk, kind + 1, kept, std::max(workspace, modes[q].workspace_bytes));
      kept[chunk] -= layers * modes[q].kept_bytes;
    }
  }

  const RecomputePolicy policy_;
  const LayerProfile& profile_;
  std::vector<std::vector<int64_t>> counts_;   // by chunk and kind
  std::vector<std::vector<int64_t>> moments_;  // packs held by chunk
  int64_t fixed_ = 0, update_ = 0, made_ = 0, last_ = 0;
  int64_t least_ = kMost / 2;
};

// Returns whether Megatron-Core keeps the encoder on the first stage. Other schedules are not its
// own.
bool HasWholeEncoder(const Job& job) {
  const std::optional<Schedule>& schedule = job.constraints.schedule;
  return job.training.trainer->name == "megatron-core" && !job.model.towers.empty() &&
         (!schedule || *schedule == Schedule::kOneFOneB);
}

// Finds the least memory that the fullest stage must allocate, over all cuts.
class Cuts {
 public:
  Cuts(const Job& job, const Parallelism& p, const PipelineShape& shape,
       const LayerProfile& profile)
      : job_(job), shape_(shape), profile_(profile), cut_{0} {
    segments_ = static_cast<size_t>(p.pipeline * p.virtual_stages);
    if (!HasWholeEncoder(job)) return;
    while (profile.at(first_cut_).kind <= LayerKind::kProjector) ++first_cut_;
  }
  int64_t Least() {
    Extend();
    return least_;
  }

 private:
  void Extend() {
    if (cut_.size() == segments_) {
      cut_.push_back(profile_.size());
      if (HasLayer(cut_[segments_ - 1], cut_[segments_])) Try();
      cut_.pop_back();
      return;
    }
    for (int64_t end = cut_.back() + 1; end < profile_.size(); ++end) {
      if (end < first_cut_ || !HasLayer(cut_.back(), end)) continue;
      cut_.push_back(end);
      Extend();
      cut_.pop_back();
    }
  }
  bool HasLayer(int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i)
      if (IsTransformerLayer(profile_.at(i).kind)) return true;
    return false;
  }
  void Try() {
    int64_t fullest = 0;
    for (int64_t s = 0; s < shape_.stages && fullest < least_; ++s)
      fullest = std::max(fullest, Stage(job_, profile_, shape_, s, cut_).Least());
    least_ = std::min(least_, fullest);
  }

  const Job& job_;
  const PipelineShape shape_;
  const LayerProfile& profile_;
  size_t segments_ = 0;
  std::vector<int64_t> cut_;
  int64_t first_cut_ = 1;
  int64_t least_ = kMost;
};

struct Needed {
  int64_t any = kMost;        // bytes that are enough for some parallelism
  int64_t one_chunk = kMost;  // ... for one with one chunk per stage
  bool made = false;          // some backward pass makes gradients
};

Needed NeededBy(const Job& job) {
  const Batching batching = MakeBatching(job);
  const double packs = batching.packs_per_step(job.training.global_batch_samples);
  Needed needed;
  std::vector<Parallelism> all;  // larger steps than asked for too
  for (std::optional<Job> some = job; some; some = WithLargerSteps(*some, packs))
    for (const Parallelism& p : Parallelisms(*some, packs)) all.push_back(p);
  for (const Parallelism& p : all) {
    int64_t least = kMost;
    for (const int64_t m : MicroBatchChoices(packs, p)) {
      const LayerProfile profile =
          BuildLayerProfile(job, p, batching.mean, batching.largest, {}, m);
      const PipelineShape shape = ShapeOf(p, ScheduleOf(job.constraints, p), m);
      needed.made = needed.made || profile.at(profile.size() - 2).made_bytes > 0;
      least = std::min(least, Cuts(job, p, shape, profile).Least());
    }
    needed.any = std::min(needed.any, least);
    if (p.virtual_stages == 1) needed.one_chunk = std::min(needed.one_chunk, least);
  }
  return needed;
}

// Returns the job on GPUs with this many allocatable bytes.
Job WithMemory(Job job, int64_t allocatable) {
  const int64_t needed =
      allocatable + AllocatorReserve(allocatable) + FrameworkBytes() + CommunicationBytes();
  job.cluster.gpu.memory_bytes = (needed / 99 + 1) * 100;
  job.cluster.reserved_bytes = job.cluster.gpu.memory_bytes / 100 * 99 - needed;
  EXPECT_EQ(AllocatableBytes(job.cluster), allocatable);
  return job;
}

Job RandomJob(Random& random) {
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random.Below(n)); };
  Job job = WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", int64_t{1} << below(4)));
  if (below(2) == 0) {
    Job mixed = VisionJob("internvit-6b-448px-v1.5", "llama3-8b", "a100-sxm-80gb", 1);
    job.model = mixed.model;
    job.dataset = {.bins = {{2, 700 + below(300), 50}, {4, 1500, 20}}};
    Encoder& e = job.model.towers[0].encoder;
    e.layers = 1 + below(3), e.hidden = 256 << below(2), e.heads = 4, e.head_dim = 64;
    e.ffn = 1024 << below(3);
    job.training.unit_cap = 4 + below(5);
  } else {
    job.dataset = {.bins = {{0, 500 + below(500), 50}, {0, 1500, 20}}};
  }
  if (below(2) == 0) job.training.trainer = FindTrainer("unlimited");
  if (below(3) == 0) job.training.execution.update_bytes_per_parameter = 6;
  Execution& execution = job.training.execution;
  execution.frees_gradients = below(2) == 0;
  execution.fused_weight_gradients = below(2) == 0;
  LanguageModel& m = job.model.language_model;
  m.layers = 1 + below(5);
  m.heads = 4, m.kv_heads = 2, m.head_dim = 64, m.hidden = 256 << below(3);
  m.ffn = 512 << below(4), m.vocab = 1000 << below(7);
  m.tied_embeddings = below(3) == 0;
  if (below(3) == 0) m.train = TrainMode::kFrozen;
  job.training.token_cap = 1500 + below(3000);
  job.training.global_batch_samples = 1 + below(execution.frees_gradients ? 8 : 40);
  job.training.zero_stage = below(2) == 0 ? ZeroStage::kNone : ZeroStage::kOptimizer;
  job.constraints.tensor_parallel = {1, 1};
  job.constraints.context_parallel = {1, 1};
  constexpr RecomputePolicy kPolicies[] = {RecomputePolicy::kAuto, RecomputePolicy::kForbidden,
                                           RecomputePolicy::kFull, RecomputePolicy::kWholeLayers};
  job.constraints.recompute = kPolicies[below(4)];
  constexpr Schedule kSchedules[] = {Schedule::kOneFOneB, Schedule::kInterleaved, Schedule::kGPipe,
                                     Schedule::kZeroBubble};
  if (const int64_t which = below(6); which < 4) {
    job.constraints.schedule = kSchedules[which];
    job.constraints.virtual_stages =
        kSchedules[which] == Schedule::kInterleaved ? DegreeRange{2, 2} : DegreeRange{1, 1};
  } else {
    job.constraints.virtual_stages = {1, 2};
  }
  // Some jobs have ranks that share images.
  if (below(3) == 0) job.constraints.tensor_parallel = {1, 2};
  if (below(3) == 0) job.constraints.context_parallel = {1, 2};
  return job;
}

TEST(MisfitReferenceTest, AJobFitsExactlyWhereSomeCutDoes) {
  Random random(11);
  int runs = 0, of_chunks = 0, whole_encoders = 0, made = 0;
  for (int run = 0; run < 150; ++run) {
    const Job job = RandomJob(random);
    const Needed needed = NeededBy(job);
    if (needed.any == kMost) continue;
    ++runs;
    of_chunks += needed.any < needed.one_chunk ? 1 : 0;
    whole_encoders += HasWholeEncoder(job) ? 1 : 0;
    made += needed.made ? 1 : 0;

    const PlanResult enough = MakePlan(WithMemory(job, needed.any), {});
    ASSERT_EQ(enough.end, PlanEnd::kComplete)
        << run << ": " << (enough.faults.empty() ? "" : enough.faults[0]);
    EXPECT_TRUE(enough.plan.fits()) << run;

    const PlanResult less = MakePlan(WithMemory(job, needed.any - 1), {});
    ASSERT_EQ(less.end, PlanEnd::kComplete)
        << run << ": " << (less.faults.empty() ? "" : less.faults[0]);
    ASSERT_FALSE(less.plan.fits()) << run;
    // Such models are so small that all cuts are tried, including those with several chunks per
    // stage.
    EXPECT_TRUE(less.plan.misfit->proven) << run;
  }
  EXPECT_GE(runs, 100);
  EXPECT_GE(made, 10);
  EXPECT_GE(whole_encoders, 15);
  EXPECT_GE(of_chunks, 5) << "of jobs that fit with several chunks per stage alone";
}

}  // namespace
}  // namespace evenkeel::planner
