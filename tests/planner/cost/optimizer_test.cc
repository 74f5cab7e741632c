// The bytes that optimizers hold and move, and the time of orthogonalising whole matrices.
#include "planner/trainer/optimizer.h"

#include <gtest/gtest.h>

#include "planner/cost/goodput.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/optimizer_time.h"
#include "planner/make_plan.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kOptimizerPack{.units = 0, .tokens = 4096, .squared = 4096.0 * 4096};
constexpr Parallelism kEightDataParallel{.tensor = 1, .pipeline = 1, .data = 8};

Job LlamaWith(Optimizer optimizer) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.optimizer = optimizer;
  return job;
}

LayerCost LayerOf(const Job& job, LayerKind kind) {
  for (const LayerCost& layer :
       BuildLayerProfile(job, kEightDataParallel, kOptimizerPack, kOptimizerPack).classes) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no layer of that kind";
  return {};
}

double StateBytes(const Job& job, LayerKind kind) {
  const LayerCost layer = LayerOf(job, kind);
  return 8 * static_cast<double>(layer.optimizer_bytes) / static_cast<double>(layer.parameters);
}

TEST(OptimizerTest, EveryOptimizerHasARecord) {
  for (const OptimizerRecord& record : Optimizers()) {
    EXPECT_EQ(&RecordOf(record.optimizer), &record);
    EXPECT_FALSE(record.source.empty()) << record.title;
  }
}

TEST(OptimizerTest, StateIsThatOfTheRecord) {
  const std::pair<Optimizer, double> bytes[] = {{Optimizer::kAdam, 12},
                                                {Optimizer::kAdam16BitMoments, 8},
                                                {Optimizer::kAdam8BitMoments, 6.03125},
                                                {Optimizer::kAdam16Bit, 4},
                                                {Optimizer::kAdam8Bit, 2.03125},
                                                {Optimizer::kAdafactor, 4},
                                                {Optimizer::kLion, 8},
                                                {Optimizer::kSgd, 8}};
  for (const auto& [optimizer, want] : bytes) {
    EXPECT_NEAR(StateBytes(LlamaWith(optimizer), LayerKind::kDense), want, 1e-5);
    EXPECT_NEAR(StateBytes(LlamaWith(optimizer), LayerKind::kHead), want, 1e-5);
  }
}

// Three passes over each gradient, whose format is the job's.
TEST(OptimizerTest, PyTorchsClippingMovesEachGradient) {
  Job job = LlamaWith(Optimizer::kAdam);
  const KernelTime kernels(job.cluster.gpu, job.constants);
  const auto ns = [&](const char* trainer, bool fp32) {
    job.training.trainer = FindTrainer(trainer);
    job.training.distributed_gradients_fp32 = fp32;
    return UpdateTime(job, kernels, 1, 1e9);
  };
  const double byte = kernels.OptimizerUpdate(2e9) - kernels.OptimizerUpdate(1e9);
  EXPECT_EQ(ns("megatron-core", true), ns("megatron-core", false));
  EXPECT_NEAR(ns("torchtitan", true) - ns("megatron-core", true), 12 * byte, 1e-3);
  EXPECT_NEAR(ns("huggingface-trainer", false) - ns("megatron-core", true), 6 * byte, 1e-3);
  job.training.fused_step = true;
  EXPECT_EQ(ns("torchtitan", true), ns("megatron-core", true));
}

TEST(OptimizerTest, MuonLeavesEmbeddingsAndHeadToAdam) {
  const Job muon = LlamaWith(Optimizer::kMuon);
  EXPECT_NEAR(StateBytes(muon, LayerKind::kDense), 8, 1e-3);  // norms are Adam's
  EXPECT_NEAR(StateBytes(muon, LayerKind::kHead), 12, 1e-5);
}

TEST(OptimizerTest, WithoutMasterWeightsShardsHoldTheWeights) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.trainer = FindTrainer("torchtitan");
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  EXPECT_EQ(LayerOf(job, LayerKind::kDense).weight_bytes, 0);  // cast from the fp32 shard
  job.training.optimizer = Optimizer::kAdam16Bit;
  const LayerCost layer = LayerOf(job, LayerKind::kDense);
  EXPECT_NEAR(static_cast<double>(layer.weight_bytes),
              2.0 / 8 * static_cast<double>(layer.parameters), 1);
}

TEST(OptimizerTest, UpdatesMoveTheRecordsBytes) {
  const KernelTime kernels(FindGpu("h100-sxm-80gb")->spec);
  const double parameters = 1e9, bytes_per_ns = 3350 * 0.8;
  EXPECT_NEAR(UpdateTime(LlamaWith(Optimizer::kAdam), kernels, 1, parameters),
              2500 + 30e9 / bytes_per_ns, 1);
  EXPECT_NEAR(UpdateTime(LlamaWith(Optimizer::kLion), kernels, 1, parameters),
              2500 + 22e9 / bytes_per_ns, 1);
}

TEST(OptimizerTest, MuonCostsItsNewtonSchulzSteps) {
  const KernelTime kernels(FindGpu("h100-sxm-80gb")->spec);
  const double parameters = 1e9;
  const double moved = UpdateTime(LlamaWith(Optimizer::kLion), kernels, 1, parameters);
  const double muon = UpdateTime(LlamaWith(Optimizer::kMuon), kernels, 1, parameters) - moved;
  // Each step is 4 n FLOPs per value and 2 n more per value of the square, n = 4096: at least at
  // the peak, at most at a fifth of it.
  const double least = 5 * 4.0 * 4096 * parameters / 989e12 * 1e9;
  EXPECT_GT(muon, least);
  EXPECT_LT(muon, 5 * 1.5 * least);
  // A tensor-parallel rank orthogonalises its shard, whose short side may be shorter.
  EXPECT_LT(UpdateTime(LlamaWith(Optimizer::kMuon), kernels, 8, parameters) - moved, muon);
}

TEST(OptimizerTest, CheckpointsHoldTheState) {
  const Job with_adam = LlamaWith(Optimizer::kAdam), with_lion = LlamaWith(Optimizer::kLion);
  const ModelSpec& model = with_adam.model;
  const int64_t adam = CheckpointBytes(model, with_adam.training);
  const int64_t lion = CheckpointBytes(model, with_lion.training);
  EXPECT_EQ(adam - lion, 4 * CountParameters(model.language_model));
}

TEST(OptimizerTest, ASmallerStateMakesAJobFit) {
  Job job = TextJob("llama3-70b", "h200-sxm-141gb", 8);
  FixDegrees(job, 8, 1, 1);
  EXPECT_FALSE(MakePlan(job, {}).plan.fits());
  job.training.optimizer = Optimizer::kAdam8BitMoments;
  EXPECT_TRUE(MakePlan(job, {}).plan.fits());
}

}  // namespace
}  // namespace evenkeel::planner
