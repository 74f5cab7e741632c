// Tests that requests with the same meaning give the same job, and thus the same plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "planner/job.h"
#include "server/planning/fingerprint.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

// Expects that both give the same job. The canonical bytes hold every field of a job.
void ExpectSame(const std::string& a, const std::string& b) {
  EXPECT_EQ(CanonicalBytes(JobOf(a)), CanonicalBytes(JobOf(b))) << a << "\nand\n" << b;
  EXPECT_EQ(PlanId(JobOf(a)), PlanId(JobOf(b)));
}
void ExpectDifferent(const std::string& a, const std::string& b) {
  EXPECT_NE(PlanId(JobOf(a)), PlanId(JobOf(b))) << a << "\nand\n" << b;
}

std::string With(const std::string& model, const std::string& pool, const std::string& rest = "") {
  return "job { model { " + model + " } cluster { pools { " + pool + " } } " + rest + " }";
}
const char kModel[] = R"(name: "internvl-chat-v1.5")";
const char kText[] = R"(name: "llama3-8b")";
const char kPool[] = R"(gpu_type: "a100-sxm-80gb" gpu_count: 32)";

TEST(Normalization, NamesInAnyCaseAndByAlias) {
  ExpectSame(With(kModel, kPool), With(R"(name: "InternVL-Chat-V1.5")", kPool));
  ExpectSame(With(kModel, kPool), With(R"(name: "internvl-1.5")", kPool));
  ExpectSame(With(kModel, kPool), With(kModel, R"(gpu_type: "A100-80GB" gpu_count: 32)"));
  ExpectSame(With(R"(name: "internvit-6b+llama3-8b")", kPool),
             With(R"(name: "InternViT-6B-448px-v1.5+llama-3-8b")", kPool));
}

TEST(Normalization, ComponentsOfTheCatalogueAreThePair) {
  ExpectSame(With(R"(name: "internvit-6b+llama3-8b")", kPool),
             With(R"(encoders { catalog_name: "internvit-6b" }
                     language_model { catalog_name: "llama3-8b" })",
                  kPool));
  ExpectSame(With(kText, kPool), With(R"(language_model { catalog_name: "llama3-8b" })", kPool));
  // A field that is set to its default changes nothing.
  ExpectSame(With(kText, kPool),
             With(R"(language_model { catalog_name: "llama3-8b" layers: 32 kv_heads: 8
                                      gated_mlp: true norm: NORM_RMS })",
                  kPool));
}

TEST(Normalization, OverriddenComponentsAreOthers) {
  ExpectDifferent(With(kText, kPool),
                  With(R"(language_model { catalog_name: "llama3-8b" layers: 16 })", kPool));
  const planner::Job job =
      JobOf(With(R"(language_model { catalog_name: "llama3-8b" hidden_size: 2048 })", kPool));
  EXPECT_EQ(job.model.language_model.head_dim, 64);  // 2048 / 32, not the catalogue's 128
  EXPECT_EQ(job.model.name, "llama3-8b-changed");
}

TEST(Normalization, TrainModesInherit) {
  ExpectSame(With(R"(name: "internvit-6b+llama3-8b" encoder_train_mode: TRAIN_MODE_FROZEN)", kPool),
             With(R"(encoders { catalog_name: "internvit-6b" train_mode: TRAIN_MODE_FROZEN }
                     language_model { catalog_name: "llama3-8b" })",
                  kPool));
  ExpectDifferent(With(kModel, kPool),
                  With(std::string(kModel) + " encoder_train_mode: TRAIN_MODE_FROZEN", kPool));
}

TEST(Normalization, BinsInAnyOrderSplitOrInParts) {
  const auto data = [](const std::string& text) {
    return With(kModel, kPool, "dataset { " + text + " }");
  };
  const std::string sorted =
      data("histogram { units: [1, 5] llm_tokens: [300, 1400] sample_count: [3, 4] }");
  ExpectSame(sorted,
             data("histogram { units: [5, 1] llm_tokens: [1400, 300] sample_count: [4, 3] }"));
  ExpectSame(sorted, data("histogram { units: [1, 5, 1] llm_tokens: [300, 1400, 300] "
                          "sample_count: [1, 4, 2] encoder_count: 1 }"));
  ExpectSame(sorted,
             data(R"(parts { name: "a" histogram { units: [5] llm_tokens: [1400] sample_count: 4 } }
                     parts { name: "b" weight: 1
                             histogram { units: [1] llm_tokens: [300] sample_count: 3 } })"));
  ExpectDifferent(sorted,
                  data("histogram { units: [1, 5] llm_tokens: [300, 1400] sample_count: [4, 3] }"));
}

TEST(Normalization, WeightsAndSharesAreCounts) {
  const auto counts = [](const std::string& a, const std::string& b) {
    const std::string histogram =
        " histogram { llm_tokens: [300, 900] sample_count: [600, 300] } }";
    const planner::Job job =
        JobOf(With(kText, kPool,
                   "dataset { parts { name: \"a\" " + a + histogram + "parts { name: \"b\" " + b +
                       " histogram { llm_tokens: 50 sample_count: 100 } } }"));
    std::vector<int64_t> of_bins;
    for (const planner::LengthBin& bin : job.dataset.bins) of_bins.push_back(bin.count);
    return of_bins;
  };
  using Counts = std::vector<int64_t>;
  EXPECT_EQ(counts("", "weight: 1"), (Counts{100, 600, 300}));
  EXPECT_EQ(counts("weight: 0.5", "weight: 3"), (Counts{300, 300, 150}));
  EXPECT_EQ(counts("share: 0.3", "share: 0.7"), (Counts{700, 200, 100}));
}

TEST(Normalization, PaddingToTheLongestSpelledOut) {
  const std::string padded = With(kText, kPool, "training { micro_batch_samples: 2 }");
  ExpectSame(padded,
             With(kText, kPool, "training { micro_batch_samples: 2 padding { multiple: 1 } }"));
  ExpectDifferent(
      padded, With(kText, kPool, "training { micro_batch_samples: 2 padding { tokens: 4096 } }"));
  ExpectDifferent(padded, With(kText, kPool));
}

TEST(Normalization, NoUnitsAreUnitsOfZero) {
  ExpectSame(
      With(kText, kPool, "dataset { histogram { llm_tokens: 9 sample_count: 1 } }"),
      With(kText, kPool, "dataset { histogram { units: 0 llm_tokens: 9 sample_count: 1 } }"));
}

TEST(Normalization, DefaultsSpelledOut) {
  const std::string plain = With(kModel, kPool);
  ExpectSame(plain, With(kModel, std::string(kPool) + " gpus_per_node: 8"));
  ExpectSame(plain, With(kModel, kPool, R"(
      training { framework: TRAINING_FRAMEWORK_MEGATRON precision: PRECISION_BF16
                 optimizer: OPTIMIZER_ADAM zero_stage: ZERO_STAGE_1
                 gradient_precision: GRADIENT_PRECISION_FP32 epochs: 1 isf_iterations: 10 }
      objective { kind: OBJECTIVE_KIND_STEP_TIME })"));
  ExpectSame(plain, With(kModel, kPool, "objective { kind: OBJECTIVE_KIND_GPU_DAYS }"));
  ExpectSame(plain, With(kModel, kPool, R"(training { precision: PRECISION_FP16
      gradient_precision: GRADIENT_PRECISION_FP32 })"));
  ExpectSame(plain, plain + " label: \"x\" max_alternatives: 3 max_violations: 7");
  ExpectSame(plain, plain + " validate_only: true");
  ExpectSame(plain, With(kModel, std::string(kPool) + " price_per_gpu_hour: -0"));
}

TEST(Normalization, BoundsThatExcludeNothing) {
  const std::string plain = With(kModel, kPool);
  const auto bounds = [](const std::string& text) {
    return With(kModel, kPool, "constraints { " + text + " }");
  };
  ExpectSame(plain, bounds("recompute: RECOMPUTE_POLICY_ONE_SETTING tensor_parallel { }"));
  ExpectSame(plain, bounds("tensor_parallel { min: 1 } context_parallel { min: 1 }"));
  ExpectSame(plain, bounds("expert_parallel { } virtual_stages { min: 1 }"));
  ExpectSame(plain, bounds("encoder_data_parallel { min: 1 }"));
  ExpectDifferent(plain, bounds("encoder_data_parallel { max: 1 }"));
  ExpectSame(plain, bounds("partition_method: PARTITION_METHOD_EXACT"));
  ExpectDifferent(plain, bounds("context_parallel { max: 1 }"));
  ExpectDifferent(plain, bounds("recompute: RECOMPUTE_POLICY_AUTO"));
  // The bound is kept although it excludes nothing now, because a remedy with more GPUs must
  // respect it.
  ExpectDifferent(plain, bounds("pipeline_parallel { max: 32 }"));
  ExpectSame(bounds("stage_layers: [23, 22, 24, 24]"),
             bounds("pipeline_parallel { min: 4 max: 4 } stage_layers: [23, 22, 24, 24]"));
  ExpectSame(bounds("stage_layers: [23, 22, 24, 24]"),
             bounds("virtual_stages { max: 1 } stage_layers: [23, 22, 24, 24]"));
  ExpectDifferent(plain, bounds("tensor_parallel { max: 4 }"));
}

TEST(Normalization, OneCountIsNoOffer) {
  ExpectSame(With(kText, R"(gpu_type: "a100-sxm-80gb" gpu_count: 16)"),
             With(kText, R"(gpu_type: "a100-sxm-80gb" gpu_counts: 16)"));
}

TEST(Normalization, FsdpShardsWeights) {
  const std::string pool = R"(gpu_type: "a100-sxm-80gb" gpu_count: 16)";
  const std::string fsdp = With(kText, pool, "training { framework: TRAINING_FRAMEWORK_FSDP }");
  ExpectSame(fsdp,
             With(kText, pool,
                  "training { framework: TRAINING_FRAMEWORK_FSDP zero_stage: ZERO_STAGE_3 }"));
  EXPECT_EQ(JobOf(fsdp).training.zero_stage, planner::ZeroStage::kWeights);
  EXPECT_EQ(JobOf(fsdp).training.trainer->name, "fsdp");
  ExpectDifferent(fsdp, With(kText, pool, "training { zero_stage: ZERO_STAGE_3 }"));
}

TEST(Normalization, AdaptersOfNoComponentLeaveNoTrace) {
  const std::string pool = R"(gpu_type: "a100-sxm-80gb" gpu_count: 16)";
  const auto model = [&](const std::string& rest) {
    return With("name: \"llama3-8b\" language_model_train_mode: TRAIN_MODE_LORA " + rest, pool);
  };
  ExpectSame(model(""), model("lora { rank: 16 }"));
  ExpectSame(model(""), model("lora { targets: [LORA_TARGET_QKV, LORA_TARGET_MLP_UP, "
                              "LORA_TARGET_MLP_DOWN, LORA_TARGET_ATTENTION_OUT] }"));
  ExpectDifferent(model(""), model("lora { rank: 8 }"));
}

TEST(Normalization, JobsSmallerThanANode) {
  ExpectSame(With(kText, R"(gpu_type: "a100-sxm-80gb" gpu_count: 4)"),
             With(kText, R"(gpu_type: "a100-sxm-80gb" gpu_count: 4 gpus_per_node: 8)"));
  const planner::Cluster cluster =
      JobOf(With(kText, R"(gpu_type: "a100-sxm-80gb" gpu_count: 4)")).cluster;
  EXPECT_EQ(cluster.gpus_per_node, 4);
  EXPECT_EQ(cluster.gpus_per_full_node, 8);
  const planner::Cluster two =
      JobOf(With(kText, R"(gpu_type: "h200" gpu_count: 2 gpus_per_node: 4)")).cluster;
  EXPECT_EQ(two.gpus_per_node, 2);
  EXPECT_EQ(two.gpus_per_full_node, 4);
}

TEST(Normalization, BridgedCardsTalkOverPcie) {
  const planner::Job job = JobOf(With(kText, R"(gpu_type: "a100-pcie-80gb" gpu_count: 8)"));
  EXPECT_EQ(job.cluster.intra_node_bytes_per_second, 31.5e9);
  std::string detail;
  for (const planner::FigureBasis& figure : job.figures) {
    if (figure.figure == "cluster.intra_node_bandwidth") detail = figure.detail;
  }
  EXPECT_NE(detail.find("PCIe, because a100-pcie-80gb has NVLink only"), std::string::npos)
      << detail;
}

TEST(Normalization, WithoutBfloat16TakesFloat16) {
  const planner::Job job = JobOf(With(kText, R"(gpu_type: "v100-sxm2-32gb" gpu_count: 8)",
                                      "training { precision: PRECISION_FP16 }"));
  EXPECT_FALSE(job.cluster.gpu.bfloat16);
}

TEST(Normalization, Float16HalvesGradientsOfMegatron) {
  const auto is_fp32 = [](const std::string& training) {
    return JobOf(With(kText, kPool, "training { precision: PRECISION_FP16 " + training + " }"))
        .training.distributed_gradients_fp32;
  };
  EXPECT_FALSE(is_fp32(""));
  EXPECT_FALSE(is_fp32("trainer { name: \"megatron-deepspeed\" }"));
  EXPECT_TRUE(is_fp32("trainer { name: \"generic\" }"));
  EXPECT_TRUE(is_fp32("gradient_precision: GRADIENT_PRECISION_FP32"));
  EXPECT_FALSE(is_fp32("trainer { name: \"fsdp\" }"));
}

// Their plans are equal, their remedies and plans in other precisions are not.
TEST(Normalization, WhatFollowsFromAnotherFieldIsNotGiven) {
  const auto with = [](const std::string& training) {
    return With(kText, kPool, "training { " + training + " }");
  };
  ExpectDifferent(with("precision: PRECISION_FP16"),
                  with("precision: PRECISION_FP16 gradient_precision: GRADIENT_PRECISION_16BIT"));
  const auto alone = [](const std::string& stage) {
    return With(kText, R"(gpu_type: "a100-sxm-80gb" gpu_count: 1)",
                "training { trainer { name: \"huggingface-trainer\" } " + stage + " }");
  };
  ExpectDifferent(alone(""), alone("zero_stage: ZERO_STAGE_0"));
  const std::string layers = "activation_layers: 1 ";
  ExpectDifferent(with("offload { " + layers + "}"),
                  with("offload { " + layers + "optimizer_ratio: 0 }"));
}

// Provenance shows the difference, so the plan is not the same.
TEST(Normalization, GivenIsNotAssumed) {
  ExpectDifferent(With(kModel, kPool),
                  With(kModel, std::string(kPool) + " inter_node_bytes_per_second: 25e9"));
  ExpectDifferent(With(kModel, kPool),
                  With(kModel, kPool, "training { global_batch_samples: 512 }"));
}

TEST(Normalization, Defaults) {
  const planner::Job job = JobOf(With(kModel, kPool));
  EXPECT_EQ(job.model.name, "internvl-chat-v1.5");
  EXPECT_TRUE(job.dataset.is_default);
  EXPECT_EQ(job.cluster.gpus_per_node, 8);
  EXPECT_EQ(job.cluster.intra_node_bytes_per_second, 300e9);
  EXPECT_EQ(job.cluster.inter_node_bytes_per_second, 25e9);
  EXPECT_EQ(job.cluster.reserved_bytes, 0);
  EXPECT_EQ(job.training.global_batch_samples, 512);
  EXPECT_EQ(job.training.unit_cap, 0);
  EXPECT_EQ(job.training.token_cap, 0);
  EXPECT_EQ(job.training.zero_stage, planner::ZeroStage::kOptimizer);
  EXPECT_TRUE(job.training.distributed_gradients_fp32);
  EXPECT_EQ(job.training.isf_iterations, 10);
  EXPECT_EQ(job.max_alternatives, 3);
}

// Images of these models are scaled to the size of one unit, not cut into tiles.
TEST(Normalization, TheDefaultDataHaveTilesOnlyWhereTheModelCutsThem) {
  const auto most_units = [](const std::string& model) {
    int64_t most = 0;
    for (const planner::LengthBin& bin : JobOf(With("name: '" + model + "'", kPool)).dataset.bins)
      most = std::max(most, bin.units[0]);
    return most;
  };
  EXPECT_EQ(most_units("llava-1.5-7b"), 1);
  EXPECT_EQ(most_units("llava-1.5-13b"), 1);
  EXPECT_EQ(most_units("gemma-3-4b"), 1);
  EXPECT_EQ(most_units("clip-vit-l-14-336+vicuna-13b-v1.5"), 5) << "could be LLaVA-NeXT";
  EXPECT_EQ(most_units("internvl-chat-v1.5"), 5);
}

TEST(Normalization, NodesAreThoseOfTheGpuType) {
  const auto pool = [](const std::string& type, int gpus) {
    return With(kText, "gpu_type: '" + type + "' gpu_count: " + std::to_string(gpus));
  };
  const auto figure_of = [](const planner::Job& job) {
    for (const planner::FigureBasis& figure : job.figures) {
      if (figure.figure == "cluster.gpus_per_node") return figure.detail;
    }
    return std::string();
  };
  for (const char* type : {"gb200", "gb300", "gh200-96gb", "gh200-141gb", "mi250x"}) {
    const planner::Job job = JobOf(pool(type, 12));
    EXPECT_EQ(job.cluster.gpus_per_node, 4) << type;
    EXPECT_EQ(figure_of(job), "4: a usual node of the GPU type") << type;
  }
  const planner::Job eight = JobOf(pool("h100", 16));
  EXPECT_EQ(eight.cluster.gpus_per_node, 8);
  EXPECT_EQ(figure_of(eight), "");
  const planner::Job given = JobOf(With(kText, "gpu_type: 'gb200' gpu_count: 16 gpus_per_node: 8"));
  EXPECT_EQ(given.cluster.gpus_per_node, 8);
  EXPECT_EQ(figure_of(given), "");
}

TEST(Normalization, EveryDescribedFieldArrives) {
  const planner::Job job = JobOf(DescribedText());
  EXPECT_EQ(job.model.name, "mine");
  const planner::EncoderTower& tower = job.model.towers.at(0);
  EXPECT_EQ(tower.encoder.modality, planner::Modality::kVideo);
  EXPECT_EQ(tower.encoder.train, planner::TrainMode::kLora);
  EXPECT_EQ(tower.encoder.lora.rank, 8);
  EXPECT_EQ(tower.encoder.lora.targets, planner::kLoraQkv | planner::kLoraMlpUp);
  EXPECT_EQ(tower.encoder.norm, planner::Norm::kLayerNorm);
  EXPECT_EQ(tower.projector.hidden_width, 2048);
  EXPECT_EQ(tower.projector.input_width, 4096);  // 4 tokens of 1024
  const planner::LanguageModel& llm = job.model.language_model;
  EXPECT_EQ(llm.kv_heads, 8);
  EXPECT_TRUE(llm.tied_embeddings);
  EXPECT_EQ(llm.moe.value().shared_ffn, 512);
  EXPECT_TRUE(llm.qk_norm);
  EXPECT_TRUE(tower.encoder.qk_norm);
  EXPECT_TRUE(tower.encoder.layer_scale);
  EXPECT_EQ(llm.mla.value().q_lora_rank, 768);
  EXPECT_EQ(llm.mla.value().kv_lora_rank, 256);
  EXPECT_EQ(llm.mla.value().qk_nope_dim, 128);
  EXPECT_EQ(llm.mla.value().qk_rope_dim, 64);
  EXPECT_EQ(llm.mla.value().v_dim, 96);
  EXPECT_EQ(job.cluster.gpu.name, "next-gpu");
  EXPECT_EQ(job.cluster.intra_node_bytes_per_second, 400e9);
  EXPECT_EQ(job.cluster.reserved_bytes, int64_t{1} << 30);
  EXPECT_EQ(job.training.zero_stage, planner::ZeroStage::kNone);
  EXPECT_FALSE(job.training.distributed_gradients_fp32);
  EXPECT_EQ(job.training.seed, 7u);
  EXPECT_FALSE(job.training.execution.sequence_parallel);
  EXPECT_EQ(job.training.execution.attention, planner::AttentionKernel::kUnfused);
  EXPECT_EQ(job.training.execution.context, planner::ContextKind::kRing);
  EXPECT_TRUE(job.training.execution.dropout);
  EXPECT_FALSE(job.training.execution.fused_loss);
  EXPECT_FALSE(job.training.execution.overlap_gradient_reduce);
  EXPECT_FALSE(job.training.execution.overlap_weight_gather);
  EXPECT_TRUE(job.training.execution.overlap_tensor);
  EXPECT_TRUE(job.training.execution.overlap_experts);
  EXPECT_EQ(job.training.execution.dispatcher, planner::Dispatcher::kLeastTime);
  EXPECT_EQ(job.cluster.fabric, planner::Fabric::kEfa);
  EXPECT_FALSE(job.training.execution.keeps_quantised_inputs);
  EXPECT_TRUE(job.training.execution.holds_quantised_weights);
  EXPECT_EQ(job.training.execution.expert_tensor, 2);
  EXPECT_FALSE(job.training.execution.fused_kernels);
  EXPECT_TRUE(job.training.execution.compiled_loss);
  EXPECT_FALSE(job.training.execution.fused_weight_gradients);
  EXPECT_DOUBLE_EQ(job.training.execution.host_launch_ns, 1e5);
  EXPECT_EQ(job.constraints.schedule, planner::Schedule::kGPipe);
  EXPECT_EQ(job.constraints.recompute, planner::RecomputePolicy::kFull);
  EXPECT_EQ(job.constraints.pipeline_parallel.min, 4);
  EXPECT_EQ(job.constraints.pipeline_parallel.max, 4);
  EXPECT_EQ(job.max_alternatives, 5);
}

std::string MyGpu(const std::string& more) {
  return R"(gpu { name: "mine" dense_16bit_flops_per_second: 3e14 memory_bytes: 80000000000
                  memory_bytes_per_second: 2e12 scaleup_bytes_per_second: 3e11 )" +
         more + "} gpu_count: 8";
}

TEST(Normalization, CostsOfADescribedGpu) {
  EXPECT_EQ(JobOf(With(kText, MyGpu(""))).cluster.gpu.costs.like, "a100-sxm-80gb");
  const planner::Job job = JobOf(With(kText, MyGpu(R"(costs_like: "V100-SXM2-32GB" )"),
                                      "training { precision: PRECISION_FP16 }"));
  EXPECT_EQ(job.cluster.gpu.costs.like, "v100-sxm2-32gb");
  EXPECT_FALSE(job.cluster.gpu.bfloat16);
  ExpectSame(With(kText, MyGpu(R"(costs_like: "h100-sxm-80gb" )")),
             With(kText, MyGpu(R"(costs_like: "H100-SXM5" )")));
}

}  // namespace
}  // namespace evenkeel::server
