// Activations in host memory: the choice against pinned numbers of layers, and what a host holds.
#include "planner/space/offload.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "planner/base/random.h"
#include "planner/base/units.h"
#include "planner/cost/host_memory.h"
#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

Job Choosing(Job job) {
  AskActivationOffload(std::nullopt, &job);
  return job;
}

Job PinnedLayers(Job job, int64_t layers) {
  AskActivationOffload(layers, &job);
  return job;
}

// Within the tolerance of the choice, and the rounding of a batch.
constexpr double kLayersTolerance = 1.0045;

// Whatever fits with a pinned number of layers is found by the choice, which is no slower; and no
// plan takes more of a host than there is.
TEST(ActivationOffloadTest, RandomJobsFindWhatPinnedOnesDo) {
  Random random(20);
  const char* const gpus[] = {"h100-sxm-80gb", "gh200-96gb", "a100-sxm-40gb", "a100-sxm-80gb"};
  const char* const trainers[] = {"megatron-core", "unlimited", "torchtune"};
  int fit = 0, chosen = 0, lacked = 0;
  for (int i = 0; i < 100; ++i) {
    Job job = LongTextJob("llama3-8b", gpus[random.Below(4)], int64_t{1} << (1 + random.Below(2)),
                          int64_t{4096} << random.Below(4), trainers[random.Below(3)]);
    job.model.language_model.layers = 2 + static_cast<int64_t>(random.Below(9));
    if (random.Below(2) == 0)
      job.cluster.host_memory_bytes = static_cast<int64_t>(20 + random.Below(100)) * kGiB;
    if (random.Below(3) == 0) job.constraints.pipeline_parallel = {1, 1};
    const Plan free = CheckedPlan(Choosing(job));
    const int64_t host = HostOf(job.cluster).memory_bytes, most = OffloadedLayersAtMost(job);
    if (free.fits() && free.offload->activation_layers > 0) {
      ++chosen;
      EXPECT_LE(free.placement.host_memory_bytes, host);
    }
    const bool any = job.training.trainer->activations.any_count;
    for (int64_t layers = 0; layers <= most; layers += any ? 1 : most) {
      const Plan pinned = CheckedPlan(PinnedLayers(job, layers));
      if (!pinned.fits()) {
        lacked += pinned.misfit->host_short_bytes > 0 ? 1 : 0;
        continue;
      }
      ++fit;
      if (layers > 0) {
        EXPECT_LE(pinned.placement.host_memory_bytes, host);
      }
      ASSERT_TRUE(free.fits()) << "job " << i << " with " << layers << " layers";
      EXPECT_LE(static_cast<double>(free.offload->step_ns),
                kLayersTolerance * static_cast<double>(pinned.offload->step_ns))
          << "job " << i << ": " << free.offload->activation_layers << " against " << layers;
    }
  }
  EXPECT_GT(fit, 200);
  EXPECT_GT(chosen, 3);
  EXPECT_GT(lacked, 8);
}

// NVLink-C2C hides the copies of every layer; recompute would repeat a third of the work.
TEST(ActivationOffloadTest, BeatsRecomputeOverAFastLink) {
  Job job = LongTextJob("llama3-8b", "gh200-96gb", 8, 32768);
  job.cluster.gpus_per_node = 1;
  const Plan plan = CheckedPlan(Choosing(job)), without = CheckedPlan(job);
  ASSERT_TRUE(plan.fits() && without.fits());
  EXPECT_FALSE(without.offload);
  EXPECT_GT(plan.offload->activation_layers, 0);
  EXPECT_GT(plan.offload->activation_bytes, kGiB);
  EXPECT_EQ(plan.offload->activation_host_bytes, plan.offload->activation_bytes);
  EXPECT_GT(static_cast<double>(plan.offload->step_without_ns),
            1.02 * static_cast<double>(plan.offload->step_ns));
}

TEST(ActivationOffloadTest, GainsNothingOverASlowLink) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192);
  job.cluster.host_link_bytes_per_second = 1e9;
  const Plan plan = CheckedPlan(Choosing(job));
  ASSERT_TRUE(plan.fits());
  EXPECT_TRUE(plan.offload->activations_asked);
  EXPECT_EQ(plan.offload->activation_layers, 0);
  EXPECT_EQ(plan.offload->activation_host_bytes, 0);
}

TEST(ActivationOffloadTest, WaitsForCopiesThatAPassDoesNotHide) {
  Job job = PinnedLayers(LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192), 24);
  FixDegrees(job, 2, 1, 4);
  job.cluster.host_memory_bytes_per_second = 8 * 400e9;
  int64_t before = -1;
  for (const double rate : {400e9, 40e9, 10e9, 2e9}) {
    job.cluster.host_link_bytes_per_second = rate;
    const Plan plan = CheckedPlan(job);
    ASSERT_TRUE(plan.fits());
    EXPECT_GT(plan.offload->activation_added_ns, before) << rate;
    before = plan.offload->activation_added_ns;
    if (rate == 400e9) {
      EXPECT_EQ(before, 0);
    }
  }
}

// GPUs of a node share its memory: eight copy at a fourth of the rate of two.
TEST(ActivationOffloadTest, HostMemoryIsSharedByTheGpusOfANode) {
  Cluster cluster = ClusterOf("h100-sxm-80gb", 8);
  cluster.host_link_bytes_per_second = 50e9;
  cluster.host_memory_bytes_per_second = 200e9;
  EXPECT_EQ(HostCopyRate(cluster), 25e9);
  cluster.gpus_per_node = 2;
  EXPECT_EQ(HostCopyRate(cluster), 50e9);
}

TEST(ActivationOffloadTest, HostMemoryIsNeverExceeded) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 32768, "unlimited");
  bool some_fit = false, some_lack = false;
  for (const int64_t gib : {80, 120, 200, 320, 480, 640}) {
    job.cluster.host_memory_bytes = gib * kGiB;
    for (const int64_t layers : {8, 16, 32}) {
      const Plan plan = CheckedPlan(PinnedLayers(job, layers));
      some_fit = some_fit || plan.fits();
      some_lack = some_lack || (!plan.fits() && plan.misfit->host_short_bytes > 0);
      if (plan.fits()) {
        EXPECT_LE(plan.placement.host_memory_bytes, gib * kGiB);
      }
    }
  }
  EXPECT_TRUE(some_fit);
  EXPECT_TRUE(some_lack);
}

// Stages hold several packs at once, and so does the host.
TEST(ActivationOffloadTest, HostsHoldThePacksInFlight) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192, "unlimited");
  job.training.global_batch_samples = 16;
  FixDegrees(job, 1, 4, 2);
  for (const Schedule schedule : {Schedule::kOneFOneB, Schedule::kGPipe, Schedule::kZeroBubble}) {
    job.constraints.schedule = schedule;
    const Plan plan = CheckedPlan(PinnedLayers(job, 32));
    ASSERT_TRUE(plan.fits());
    const StagePlan &first = plan.stages[0], &last = plan.stages[3];
    EXPECT_GT(first.in_flight, 1);
    // All of each layer's activations are on the host.
    EXPECT_LT(first.memory.activations_by_kind.at(LayerKind::kDense), 1000);
    const auto per_layer = [](const StagePlan& stage) {
      int64_t layers = 0;
      for (const LayerGroup& group : stage.layers)
        layers += group.kind == LayerKind::kDense ? group.count : 0;
      return stage.offloaded_activation_bytes / (layers * stage.in_flight);
    };
    EXPECT_EQ(per_layer(first), per_layer(last));
  }
}

TEST(ActivationOffloadTest, InputsOfRecomputedLayersGoAllOrNone) {
  Job job = LongTextJob("llama3-8b", "a100-sxm-40gb", 8, 65536, "torchtune");
  job.model.language_model.vocab = 8192;  // else logits take all of the memory
  const Plan all = CheckedPlan(PinnedLayers(job, 32)), none = CheckedPlan(PinnedLayers(job, 0));
  ASSERT_TRUE(all.fits());
  for (const LayerGroup& group : all.stages[0].layers) {
    if (group.kind != LayerKind::kDense) continue;
    EXPECT_EQ(group.recomputed, (std::vector<RecomputedLayers>{{kWholeLayer, group.count}}));
  }
  const Plan plan = CheckedPlan(Choosing(job));
  EXPECT_TRUE(plan.offload->activation_layers == 0 || plan.offload->activation_layers == 32);
  if (!none.fits()) {
    EXPECT_EQ(plan.offload->activation_layers, 32);
  }
}

TEST(ActivationOffloadTest, HoldsAJobToWhatItsTrainerCombines) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 8, 8192);
  job.constraints.virtual_stages = {1, 4};
  const Job held = PinnedLayers(job, 4);
  EXPECT_EQ(held.constraints.recompute, RecomputePolicy::kForbidden);
  EXPECT_EQ(held.constraints.pipeline_parallel.max, 1);
  EXPECT_EQ(held.constraints.virtual_stages.max, 1);
  const Job free = WithActivations(held, 0, 0);
  EXPECT_EQ(free.constraints.recompute, RecomputePolicy::kOneSetting);
  EXPECT_EQ(free.constraints.pipeline_parallel.max, 0);
  EXPECT_EQ(free.constraints.virtual_stages.max, 4);
  EXPECT_EQ(OffloadedLayersAtMost(job), 31);
  const Trainer& torchtune = *FindTrainer("torchtune");
  EXPECT_EQ(RecomputeBesideOffload(torchtune, RecomputePolicy::kWholeLayers),
            RecomputePolicy::kFull);
  EXPECT_FALSE(RecomputeBesideOffload(torchtune, RecomputePolicy::kForbidden));
  EXPECT_FALSE(RecomputeBesideOffload(*job.training.trainer, RecomputePolicy::kFull));
  EXPECT_FALSE(RecomputeBesideOffload(*FindTrainer("torchtitan"), RecomputePolicy::kAuto));
}

TEST(ActivationOffloadTest, AnEvaluatedPlanHasThePlansFigures) {
  Job job = PinnedLayers(LongTextJob("llama3-8b", "gh200-96gb", 4, 16384), 20);
  const Plan plan = CheckedPlan(job);
  ASSERT_TRUE(plan.fits());
  const Evaluation same = EvaluatePlan(job, SpecOf(plan));
  ASSERT_TRUE(same.faults.empty());
  EXPECT_EQ(same.plan.prediction.step.total_ns, plan.prediction.step.total_ns);
  EXPECT_EQ(same.plan.offload->activation_added_ns, plan.offload->activation_added_ns);
  EXPECT_EQ(same.plan.offload->activation_host_bytes, plan.offload->activation_host_bytes);

  job.cluster.host_memory_bytes = 40 * kGiB;
  const Evaluation lacks = EvaluatePlan(job, SpecOf(plan));
  ASSERT_FALSE(lacks.plan.fits());
  EXPECT_GT(lacks.plan.misfit->host_short_bytes, 0);
}

TEST(ActivationOffloadTest, GoesBesideAnOffloadedOptimizer) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 2, 32768);
  job.training.offload = {.asked = true, .given = true, .ratio = 0.5, .charged_ratio = 0.5};
  const Plan plan = CheckedPlan(Choosing(job));
  ASSERT_TRUE(plan.fits());
  EXPECT_EQ(plan.offload->ratio, 0.5);
  EXPECT_GT(plan.offload->host_bytes, 0);
  EXPECT_GE(plan.placement.host_memory_bytes,
            plan.offload->host_bytes + plan.offload->activation_host_bytes);
}

}  // namespace
}  // namespace evenkeel::planner
