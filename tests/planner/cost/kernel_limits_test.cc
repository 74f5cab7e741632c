// Fast kernels that take only some shapes: the time of other shapes.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/cost/layer_profile.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

LayerCost LayerOf(const Job& job, LayerKind kind, int64_t samples, int64_t tensor = 1) {
  const double length = 1024, n = static_cast<double>(samples);
  const PackShape pack{0, n * length, n * length * length};
  const LayerProfile profile =
      BuildLayerProfile(job, {tensor, 1, job.cluster.gpu_count / tensor}, pack, pack);
  return *std::find_if(profile.classes.begin(), profile.classes.end(),
                       [&](const LayerCost& layer) { return layer.kind == kind; });
}

Job JobOf(const char* trainer) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  job.training.trainer = FindTrainer(trainer);
  job.training.zero_stage = ZeroStage::kNone;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kNone);
  return job;
}

TEST(KernelLimitsTest, RowsOfLogitsThatAreNotAlignedSlowTheHead) {
  Job job = JobOf("huggingface-trainer");
  const auto head = [&](int64_t vocab) {
    job.model.language_model.vocab = vocab;
    return static_cast<double>(LayerOf(job, LayerKind::kHead, 4).forward_ns);
  };
  const double padded = head(50304);
  EXPECT_NEAR(head(50296) / padded, 1, 0.01) << "a multiple of 8";
  EXPECT_GT(head(50300) / padded, 1.2) << "a multiple of 4";
  EXPECT_GT(head(50257), 1.2 * head(50300));
  job.training.trainer = FindTrainer("megatron-core");
  EXPECT_NEAR(head(50257) / padded, 1, 0.01) << "Megatron pads the vocabulary";
}

TEST(KernelLimitsTest, AFusedSoftmaxTakesFourHeadsAtATime) {
  Job job = JobOf("megatron-core");
  job.training.execution.attention = AttentionKernel::kUnfused;
  job.training.execution.host_launch_ns = 0;
  LanguageModel& m = job.model.language_model;
  const auto per_sample = [&](int64_t heads, int64_t samples) {
    m.heads = m.kv_heads = heads;
    m.head_dim = 4096 / heads;
    return static_cast<double>(LayerOf(job, LayerKind::kDense, samples).forward_ns) /
           static_cast<double>(samples);
  };
  EXPECT_GT(per_sample(2, 1), 1.02 * per_sample(2, 2)) << "two heads of one sample";
  EXPECT_GT(per_sample(2, 3), per_sample(2, 4));
  EXPECT_LT(per_sample(4, 1), 1.05 * per_sample(4, 2));
  const auto forward = [&](double launch_ns) {
    job.training.execution.host_launch_ns = launch_ns;
    m.heads = m.kv_heads = 2;
    m.head_dim = 128;
    m.hidden = 256;
    m.ffn = 1024;
    return [&](int64_t samples) {
      return static_cast<double>(LayerOf(job, LayerKind::kDense, samples).forward_ns);
    };
  };
  const auto slow_host = forward(1e6);
  EXPECT_NEAR(slow_host(1) - slow_host(2), 4e6, 1e5) << "four launches more";
}

}  // namespace
}  // namespace evenkeel::planner
