// Modules in host memory with virtual stages: the choice against pinned sets, against hosts that
// are slower or smaller, and plans that come back.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/base/units.h"
#include "planner/cost/host_memory.h"
#include "planner/evaluate_plan.h"
#include "planner/explain/remedies.h"
#include "planner/make_plan.h"
#include "planner/space/offload.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

// Within the tolerance of the choice, and the rounding of a batch.
constexpr double kInterleavedTolerance = 1.0045;

Job ChoosingModules(Job job, OffloadModules modules = 0) {
  AskModuleOffload(modules, &job);
  return job;
}

Job RandomJob(Random& random, bool moe) {
  const char* const gpus[] = {"h100-sxm-80gb", "gh200-96gb", "a100-sxm-40gb", "a100-sxm-80gb"};
  const int64_t count = moe ? 8 : int64_t{2} << random.Below(2);
  Job job = LongTextJob(moe ? "mixtral-8x7b" : "llama3-8b", gpus[random.Below(4)], count,
                        int64_t{8192} << random.Below(3));
  LanguageModel& m = job.model.language_model;
  m.layers = moe ? int64_t{8} << random.Below(2) : 4 + static_cast<int64_t>(random.Below(9));
  m.runs = {};
  job.training.execution.grouped_experts = moe;
  if (moe) job.constraints.expert_parallel = {1, 0};
  job.constraints.pipeline_parallel = {2, moe ? 4 : 2};
  job.constraints.tensor_parallel = {1, 1};
  job.constraints.virtual_stages = {1 + static_cast<int64_t>(random.Below(2)), 4};
  if (random.Below(2) == 0) {
    job.cluster.host_link_bytes_per_second = 300e9;
    job.cluster.host_memory_bytes_per_second = 8 * 300e9;
  }
  if (random.Below(3) == 0)
    job.cluster.host_memory_bytes = static_cast<int64_t>(100 + random.Below(400)) * kGiB;
  return job;
}

TEST(InterleavedModulesTest, RandomJobsFindWhatPinnedSetsDo) {
  Random random(3);
  int fit = 0, interleaved = 0;
  for (int i = 0; i < 30; ++i) {
    const bool moe = random.Below(2) == 0;
    const Job job = RandomJob(random, moe);
    const Plan free = CheckedPlan(ChoosingModules(job));
    if (free.fits() && free.offload->modules != 0)
      interleaved += free.parallelism.virtual_stages > 1 ? 1 : 0;
    const OffloadModules has = OffloadModulesOf(job);
    for (OffloadModules modules = has; modules != 0; modules = (modules - 1) & has) {
      if (WithoutUnmetNeeds(modules) != modules || (moe && random.Below(6) != 0)) continue;
      const Plan pinned = CheckedPlan(ChoosingModules(job, modules));
      if (!pinned.fits()) continue;
      ++fit;
      EXPECT_LE(pinned.placement.host_memory_bytes, HostOf(job.cluster).memory_bytes);
      ASSERT_TRUE(free.fits()) << "job " << i << " with modules " << modules;
      EXPECT_LE(D(free.offload->step_ns), kInterleavedTolerance * D(pinned.offload->step_ns))
          << "job " << i << ": " << free.offload->modules << " against " << modules;
    }
  }
  EXPECT_GT(fit, 80);
  EXPECT_GT(interleaved, 5);
}

// With 12 segments, a search with one module more than needed finds a quicker cut.
TEST(InterleavedModulesTest, OneModuleMoreOrLessIsTried) {
  Job job = LongTextJob("llama3-8b", "a100-sxm-40gb", 32, 8192);
  job.constraints.pipeline_parallel = {4, 8};
  job.constraints.tensor_parallel = {1, 2};
  job.constraints.virtual_stages = {1, 4};
  const Plan free = CheckedPlan(ChoosingModules(job));
  const Plan pinned = CheckedPlan(ChoosingModules(job, kOffloadQkv | kOffloadCoreAttention));
  ASSERT_TRUE(free.fits() && pinned.fits());
  EXPECT_LE(D(free.offload->step_ns), kInterleavedTolerance * D(pinned.offload->step_ns));
}

// A job whose best plan offloads modules of virtual stages.
Job Interleaved() {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 4, 32768);
  job.model.language_model.layers = 12;
  FixDegrees(job, 1, 2, 2);
  job.constraints.schedule = Schedule::kInterleaved;
  job.constraints.virtual_stages = {2, 0};
  return job;
}

TEST(InterleavedModulesTest, AQuickerOrLargerHostIsNeverSlower) {
  Job job = ChoosingModules(Interleaved());
  job.cluster.host_memory_bytes_per_second = 8 * 400e9;
  double before = 0;
  int chosen = 0;
  for (const double rate : {400e9, 100e9, 50e9, 20e9, 10e9, 5e9, 1e9}) {
    job.cluster.host_link_bytes_per_second = rate;
    const Plan plan = CheckedPlan(job);
    ASSERT_TRUE(plan.fits());
    chosen += plan.offload->modules != 0 ? 1 : 0;
    EXPECT_GE(kInterleavedTolerance * D(plan.offload->step_ns), before) << rate;
    before = D(plan.offload->step_ns);
  }
  EXPECT_GE(chosen, 3);
  job.cluster.host_link_bytes_per_second = 400e9;
  before = 0;
  for (const int64_t gib : {1000, 150, 100, 90, 80}) {
    job.cluster.host_memory_bytes = gib * kGiB;
    const Plan plan = CheckedPlan(job);
    ASSERT_TRUE(plan.fits());
    EXPECT_LE(plan.placement.host_memory_bytes, gib * kGiB);
    EXPECT_GE(kInterleavedTolerance * D(plan.offload->step_ns), before) << gib;
    before = D(plan.offload->step_ns);
  }
}

// The host needs what it has at its own fullest moment, and not a byte more.
TEST(InterleavedModulesTest, TheHostBindsAtItsOwnPeak) {
  Job job = ChoosingModules(Interleaved(), kOffloadQkv | kOffloadCoreAttention);
  const Plan plan = CheckedPlan(job);
  ASSERT_TRUE(plan.fits());
  ASSERT_GT(plan.parallelism.virtual_stages, 1);
  job.cluster.host_memory_bytes = plan.placement.host_memory_bytes;
  const Plan same = CheckedPlan(job);
  ASSERT_TRUE(same.fits());
  EXPECT_EQ(same.offload->step_ns, plan.offload->step_ns);
  const Job with = WithModules(job, plan.offload->modules, plan.offload->modules, {});
  EXPECT_FALSE(EvaluatePlan(with, SpecOf(plan)).plan.misfit);
  Job less = with;
  less.cluster.host_memory_bytes -= kGiB;
  const Evaluation evaluated = EvaluatePlan(less, SpecOf(plan));
  ASSERT_TRUE(evaluated.plan.misfit);
  EXPECT_GT(evaluated.plan.misfit->host_short_bytes, 0);
}

TEST(InterleavedModulesTest, IsEvaluatedAsPlanned) {
  const Job job = ChoosingModules(Interleaved());
  const Plan plan = CheckedPlan(job);
  ASSERT_TRUE(plan.fits());
  ASSERT_GT(plan.parallelism.virtual_stages, 1);
  ASSERT_NE(plan.offload->modules, 0u);
  RecomputeSetting beside;
  for (const LayerGroup& group : plan.stages.front().layers)
    if (!group.recomputed.empty()) beside.dense_parts = group.recomputed.front().parts;
  const Evaluation evaluated = EvaluatePlan(
      WithModules(job, plan.offload->modules, plan.offload->modules, beside), SpecOf(plan));
  ASSERT_TRUE(evaluated.faults.empty()) << evaluated.faults.front().message;
  EXPECT_EQ(evaluated.plan.prediction.step.total_ns, plan.prediction.step.total_ns);
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    EXPECT_EQ(evaluated.plan.stages[s].memory.total(), plan.stages[s].memory.total());
    EXPECT_EQ(evaluated.plan.stages[s].offloaded_activation_bytes,
              plan.stages[s].offloaded_activation_bytes);
  }
}

TEST(InterleavedModulesTest, IsARemedyOfVirtualStages) {
  Job job = Interleaved();
  job.constraints.recompute = RecomputePolicy::kForbidden;
  job.cluster.reserved_bytes = 12 * kGiB;
  const Plan plan = CheckedPlan(job);
  ASSERT_FALSE(plan.fits());
  bool found = false;
  for (const Remedy& remedy : plan.misfit->remedies) {
    if (remedy.kind != RemedyKind::kOffloadModules) continue;
    found = true;
    const Plan remedied = CheckedPlan(ApplyRemedy(job, remedy));
    ASSERT_TRUE(remedied.fits());
    EXPECT_GT(remedied.parallelism.virtual_stages, 1);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace evenkeel::planner
