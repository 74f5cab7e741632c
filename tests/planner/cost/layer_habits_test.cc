// What habits of trainers change of a layer's time.
#include <gtest/gtest.h>

#include "planner/cost/layer_profile.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kHabitsPack{.tokens = 4096, .squared = 4096.0 * 4096};

LayerProfile HabitsProfile(const Job& job, const Parallelism& p) {
  return BuildLayerProfile(job, p, kHabitsPack, kHabitsPack);
}

const LayerCost& LayerOf(const LayerProfile& profile, LayerKind kind) {
  for (const LayerCost& layer : profile.classes) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no layer of kind " << static_cast<int>(kind);
  return profile.classes.front();
}

// The down projection is 59 of the 218 million weights of a layer. Attention's scores and small
// kernels come on top of the products.
TEST(LayerHabitsTest, ARecomputeThatStopsEarlyLeavesTheLastProductOut) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const auto repeated = [&](bool stops, bool lora) {
    job.training.execution.stops_recompute_early = stops;
    job.model.language_model.train = lora ? TrainMode::kLora : TrainMode::kFull;
    job.model.language_model.lora = {.rank = 16, .targets = kLoraMlpDown};
    const LayerProfile profile = HabitsProfile(job, {.data = 8});
    const LayerCost& layer = LayerOf(profile, LayerKind::kDense);
    return layer.modes.back().repeated.at(kHabitsPack) / layer.forward.at(kHabitsPack);
  };
  EXPECT_EQ(repeated(false, false), 1);
  EXPECT_GT(repeated(true, false), 0.7);
  EXPECT_LT(repeated(true, false), 0.85);
  // An adapter of that product runs after it; only the residual is left out.
  EXPECT_GT(repeated(true, true), 0.97);
  EXPECT_LT(repeated(true, true), 1);
}

TEST(LayerHabitsTest, TheFullestRankOfDroplessExpertsSetsTheTime) {
  Job job = TextJob("mixtral-8x7b", "h100-sxm-80gb", 8);
  const auto forward = [&](double capacity, int64_t expert) {
    job.training.execution.expert_capacity = capacity;
    const LayerProfile profile = HabitsProfile(job, {.data = 8, .expert = expert});
    return LayerOf(profile, LayerKind::kMoe).forward.at(kHabitsPack);
  };
  EXPECT_GT(forward(0, 8), 1.1 * forward(1, 8));
  EXPECT_LT(forward(0, 8), 1.5 * forward(1, 8));
  EXPECT_EQ(forward(0, 1), forward(1, 1));  // one rank has all rows
}

TEST(LayerHabitsTest, TheSlowestOfManyGpusSetsTheTime) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.execution.host_launch_ns = 0;
  const auto forward = [&](int64_t gpus) {
    job.cluster.gpu_count = gpus;
    return LayerOf(HabitsProfile(job, {.data = 8}), LayerKind::kDense).forward.at(kHabitsPack);
  };
  const double slower = forward(8) * job.constants.slowest_gpu_ratio;
  EXPECT_EQ(forward(1), forward(8));
  EXPECT_NEAR(forward(12), forward(8) + slower / 2, 1);
  EXPECT_NEAR(forward(16), forward(8) + slower, 1);
  EXPECT_NEAR(forward(1024), forward(8) + 7 * slower, 1);
}

TEST(LayerHabitsTest, EagerModulesMayHaveFusedNorms) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.execution.host_launch_ns = 0;
  const auto forward = [&](bool kernels, bool norms) {
    job.training.execution.fused_kernels = kernels;
    job.training.execution.fused_norms = norms;
    return LayerOf(HabitsProfile(job, {.data = 8}), LayerKind::kDense).forward.at(kHabitsPack);
  };
  EXPECT_LT(forward(false, true), forward(false, false));
  EXPECT_GT(forward(false, true), forward(true, false));
  EXPECT_EQ(forward(true, true), forward(true, false));
}

}  // namespace
}  // namespace evenkeel::planner
