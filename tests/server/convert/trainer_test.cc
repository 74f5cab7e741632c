// Tests the trainer of a request, and its defaults under what the request sets.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/job.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

using planner::Job;
using planner::Training;
using planner::ZeroStage;

v1::PlanJobRequest TrainerRequest(const std::string& training) {
  return Parse(R"(job {
      model { name: "llama3.1-8b" }
      dataset { histogram { llm_tokens: 4096 sample_count: 9000 } }
      cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 32 } }
      training { )" +
               training + " } }");
}

Training TrainingOf(const std::string& training) {
  return JobOf(TrainerRequest(training)).training;
}

std::vector<std::string> TrainerViolations(const std::string& training,
                                           const char* model = "llama3.1-8b") {
  Job job;
  v1::PlanJobRequest request = TrainerRequest(training);
  request.mutable_job()->mutable_model()->set_name(model);
  std::vector<std::string> lines;
  for (const Violation& v : JobFromProto(request, &job))
    lines.push_back(v.field + ": " + v.description);
  return lines;
}

std::string FigureOf(const Job& job) {
  for (const planner::FigureBasis& figure : job.figures) {
    if (figure.figure == "training.trainer")
      return std::string(figure.basis == planner::Basis::kFitted ? "fitted: " : "assumed: ") +
             figure.detail;
  }
  return "";
}

TEST(TrainerTest, IsTheOneThatTheFrameworkIsShortFor) {
  EXPECT_EQ(TrainingOf("").trainer->name, "megatron-core");
  EXPECT_EQ(TrainingOf("framework: TRAINING_FRAMEWORK_FSDP").trainer->name, "fsdp");
  EXPECT_EQ(FigureOf(JobOf(TrainerRequest(""))), "");
}

TEST(TrainerTest, IsAskedOnlyForDegreesThatItHas) {
  const std::string fsdp = R"(trainer { name: "pytorch-fsdp" } } constraints { )";
  EXPECT_EQ(TrainerViolations(fsdp + "expert_parallel { min: 2 }", "qwen3-30b-a3b"),
            (std::vector<std::string>{"job.constraints.expert_parallel: must allow 1: PyTorch FSDP "
                                      "has no expert parallelism"}));
  EXPECT_EQ(TrainerViolations(fsdp + "tensor_parallel { min: 2 }"),
            (std::vector<std::string>{"job.constraints.tensor_parallel: must allow 1: PyTorch FSDP "
                                      "shares a model by ZeRO and by context"}));
  EXPECT_TRUE(TrainerViolations(fsdp + "expert_parallel { max: 8 }", "qwen3-30b-a3b").empty());
}

TEST(TrainerTest, BringsItsDefaults) {
  const Training foundry = TrainingOf(R"(trainer { name: "llm-foundry" version: "0.8" })");
  EXPECT_EQ(foundry.trainer->name, "llm-foundry");
  EXPECT_EQ(foundry.trainer_name, "");
  EXPECT_EQ(foundry.trainer_version, "0.8");
  EXPECT_EQ(foundry.zero_stage, ZeroStage::kWeights);
  EXPECT_TRUE(foundry.execution.casts_master_weights);
  EXPECT_FALSE(foundry.execution.fused_kernels);
  EXPECT_LT(foundry.execution.kernel_rate, 1);
  EXPECT_TRUE(foundry.execution.frees_gradients);
  EXPECT_FALSE(TrainingOf("").execution.frees_gradients);
  EXPECT_FALSE(TrainingOf(R"(trainer { name: "torchtune" } execution { frees_gradients: false })")
                   .execution.frees_gradients);
  EXPECT_TRUE(TrainingOf("").distributed_gradients_fp32);
  EXPECT_FALSE(TrainingOf(R"(trainer { name: "nemo" })").distributed_gradients_fp32);
  EXPECT_TRUE(TrainingOf(R"(trainer { name: "nemo" } gradient_precision: GRADIENT_PRECISION_FP32)")
                  .distributed_gradients_fp32);
  EXPECT_GT(TrainingOf(R"(trainer { name: "internevo" })").execution.gather_ns_per_rank, 0);
  EXPECT_EQ(TrainingOf(R"(trainer { name: "megatron-lm" })").trainer->name, "megatron-core");
}

TEST(TrainerTest, RecomputesWhatItCan) {
  const auto policy = [](const std::string& training) {
    return JobOf(TrainerRequest(training)).constraints.recompute;
  };
  using planner::RecomputePolicy;
  EXPECT_EQ(policy(""), RecomputePolicy::kOneSetting);
  EXPECT_EQ(policy(R"(trainer { name: "unlimited" })"), RecomputePolicy::kAuto);
  EXPECT_EQ(policy(R"(trainer { name: "torchtitan" })"), RecomputePolicy::kAuto);
  EXPECT_EQ(policy(R"(trainer { name: "torchtune" })"), RecomputePolicy::kWholeLayers);
  EXPECT_EQ(policy(R"(trainer { name: "nanotron" })"), RecomputePolicy::kOneSetting);
  EXPECT_EQ(policy("framework: TRAINING_FRAMEWORK_DEEPSPEED"), RecomputePolicy::kWholeLayers);
}

TEST(TrainerTest, CutsStagesAsItDoes) {
  using planner::PartitionMethod;
  const auto method = [](const std::string& trainer, const std::string& constraints = "") {
    const planner::Constraints c = JobOf(TrainerRequest("trainer { name: \"" + trainer +
                                                        "\" } } constraints { " + constraints))
                                       .constraints;
    if (c.partition_method != PartitionMethod::kExact) {
      EXPECT_EQ(c.schedule, planner::Schedule::kOneFOneB);
      EXPECT_EQ(c.virtual_stages.max, 1);
    }
    return c.partition_method;
  };
  EXPECT_EQ(method("megatron-core"), PartitionMethod::kExact);
  EXPECT_EQ(method("nanotron"), PartitionMethod::kWeights);
  EXPECT_EQ(method("internevo"), PartitionMethod::kLayersLast);
  EXPECT_EQ(method("internevo", "virtual_stages { min: 2 }"), PartitionMethod::kExact);
  EXPECT_EQ(method("internevo", "schedule: PIPELINE_SCHEDULE_INTERLEAVED"),
            PartitionMethod::kExact);
  EXPECT_EQ(method("nanotron", "partition_method: PARTITION_METHOD_EXACT"),
            PartitionMethod::kExact);
  EXPECT_EQ(method("nanotron", "schedule: PIPELINE_SCHEDULE_1F1B"), PartitionMethod::kWeights);
  EXPECT_EQ(method("nanotron", "stage_layers: [16, 16]"), PartitionMethod::kExact);
}

TEST(TrainerTest, ATrainerWithoutARecordHasTheGenericOneAndSaysSo) {
  const Job job = JobOf(TrainerRequest(R"(trainer { name: "tiny-trainer" })"));
  EXPECT_EQ(job.training.trainer, &planner::GenericTrainer());
  EXPECT_EQ(job.training.trainer_name, "tiny-trainer");
  EXPECT_EQ(FigureOf(job),
            "assumed: no record of tiny-trainer: defaults between those of the known trainers");
  EXPECT_EQ(FigureOf(JobOf(TrainerRequest(R"(trainer { name: "torchtitan" })"))).substr(0, 18),
            "fitted: torchtitan");
}

TEST(TrainerTest, EachDefaultCanBeSet) {
  v1::PlanJobRequest request = TrainerRequest(R"(trainer { name: "internevo" } execution {
      expert_capacity_ratio: 1 grouped_experts: false bucket_bytes: 7 host_launch_seconds: 2e-5
      kernel_rate_ratio: 0.5 rank_gather_seconds: 0.25 loss_logit_bytes: 9
      update_parameter_bytes: 8 collective_launches: 6 copies_reduced_gradients: true
      gathers_to_recompute: true
      weight_hook_seconds: 3e-4 casts_master_weights: true keeps_gathered_inputs: true
      frees_gradients: true accumulates_whole_gradients: true fused_norms: true
      stops_recompute_early: true pools_gradients: true tensor_loss_logit_bytes: 3
      gather_traffic_bytes: 5 reduce_traffic_bytes: 6 reduces_fp32: true
      copies_tensor_rows: true fp32_adapters: true adapter_gather_seconds: 4e-4
      repeats_expert_exchanges: true fused_activation: false fused_rotary: false
      stores_weight_remainders: true rms_norm_bytes: 5 })");
  request.mutable_job()->mutable_model()->set_name("mixtral-8x7b");
  const planner::Execution e = JobOf(request).training.execution;
  EXPECT_EQ(e.expert_capacity, 1);
  EXPECT_FALSE(e.grouped_experts);
  EXPECT_EQ(e.bucket_bytes, 7);
  EXPECT_DOUBLE_EQ(e.host_launch_ns, 20e3);
  EXPECT_EQ(e.collective_launches, 6);
  EXPECT_TRUE(e.copies_reduced_gradients);
  EXPECT_TRUE(e.gathers_to_recompute);
  EXPECT_EQ(e.kernel_rate, 0.5);
  EXPECT_DOUBLE_EQ(e.gather_ns_per_rank, 0.25e9);
  EXPECT_EQ(e.loss_bytes_per_logit, 9);
  EXPECT_EQ(e.update_bytes_per_parameter, 8);
  EXPECT_DOUBLE_EQ(e.weight_hook_ns, 3e5);
  EXPECT_TRUE(e.casts_master_weights);
  EXPECT_TRUE(e.keeps_gathered_inputs);
  EXPECT_TRUE(e.frees_gradients);
  EXPECT_TRUE(e.accumulates_whole_gradients);
  EXPECT_TRUE(e.fused_norms);
  EXPECT_TRUE(e.stops_recompute_early);
  EXPECT_TRUE(e.pools_gradients);
  EXPECT_EQ(e.tensor_loss_bytes_per_logit, 3);
  EXPECT_EQ(e.gather_traffic_bytes, 5);
  EXPECT_EQ(e.reduce_traffic_bytes, 6);
  EXPECT_TRUE(e.reduces_fp32);
  EXPECT_TRUE(e.copies_tensor_rows);
  EXPECT_TRUE(e.fp32_adapters);
  EXPECT_TRUE(e.repeats_expert_exchanges);
  EXPECT_EQ(e.fused_activation, planner::Fusion::kApart);
  EXPECT_EQ(e.fused_rotary, planner::Fusion::kApart);
  EXPECT_TRUE(e.stores_weight_remainders);
  EXPECT_EQ(e.rms_norm_bytes, 5);
  EXPECT_DOUBLE_EQ(e.adapter_gather_ns, 4e5);
  EXPECT_FALSE(e.overlap_weight_gather);  // InternEvo's default, not set by the request
}

TEST(TrainerTest, AutocastIsTheOnlyCast) {
  const planner::Execution e =
      TrainingOf(R"(trainer { name: "torchtitan" } execution { autocast: true })").execution;
  EXPECT_TRUE(e.autocast);
  EXPECT_FALSE(e.casts_master_weights);
  EXPECT_EQ(TrainerViolations("execution { autocast: true casts_master_weights: true }"),
            (std::vector<std::string>{
                "job.training.execution.autocast: must not be true with casts_master_weights: it "
                "casts weights that are gathered in fp32"}));
  EXPECT_EQ(TrainerViolations("optimizer: OPTIMIZER_ADAM_16BIT execution { autocast: true }"),
            (std::vector<std::string>{
                "job.training.execution.autocast: must not be true with OPTIMIZER_ADAM_16BIT, "
                "which has no fp32 weights"}));
  EXPECT_EQ(TrainerViolations("precision: PRECISION_FP8 execution { autocast: true }").back(),
            "job.training.execution.autocast: must not be true below 16 bits");
  EXPECT_EQ(TrainerViolations(
                "gradient_precision: GRADIENT_PRECISION_16BIT execution { autocast: true }"),
            (std::vector<std::string>{
                "job.training.execution.autocast: must not be true with GRADIENT_PRECISION_16BIT: "
                "gradients have the format of weights"}));
}

TEST(TrainerTest, AutocastReducesFp32Gradients) {
  const planner::Training training = TrainingOf(
      R"(trainer { name: "huggingface-trainer" } zero_stage: ZERO_STAGE_1
         execution { autocast: true })");
  EXPECT_TRUE(training.distributed_gradients_fp32);
  EXPECT_TRUE(training.execution.reduces_fp32);
}

TEST(TrainerTest, FusionsThatHoldAnywayAreNotDistinguished) {
  const auto activation = [](const std::string& training) {
    return TrainingOf(training).execution.fused_activation;
  };
  EXPECT_EQ(activation("execution { fused_activation: true }"), planner::Fusion::kAsOthers);
  EXPECT_EQ(activation("execution { fused_activation: false }"), planner::Fusion::kApart);
  EXPECT_EQ(activation("execution { fused_kernels: false fused_activation: false }"),
            planner::Fusion::kAsOthers);
  EXPECT_EQ(activation("execution { fused_kernels: false fused_activation: true }"),
            planner::Fusion::kFused);
}

TEST(TrainerTest, RemaindersNeedWeightsInBfloat16) {
  const auto stores = [](const std::string& training) {
    return TrainingOf(training).execution.stores_weight_remainders;
  };
  const std::string moments = "optimizer: OPTIMIZER_ADAM_16BIT_MOMENTS ";
  EXPECT_TRUE(stores(moments));
  EXPECT_FALSE(stores(""));
  EXPECT_TRUE(stores("execution { stores_weight_remainders: true }"));
  EXPECT_FALSE(stores(moments + "execution { stores_weight_remainders: false }"));
  EXPECT_FALSE(stores(moments + "precision: PRECISION_FP16"));
  EXPECT_FALSE(stores(moments + R"(trainer { name: "torchtitan" })"));
  EXPECT_EQ(
      TrainerViolations("optimizer: OPTIMIZER_MUON execution { stores_weight_remainders: true }"),
      (std::vector<std::string>{
          "job.training.execution.stores_weight_remainders: must not be true with "
          "OPTIMIZER_MUON; accepted: OPTIMIZER_ADAM, OPTIMIZER_ADAM_16BIT_MOMENTS, "
          "OPTIMIZER_ADAM_8BIT_MOMENTS"}));
  EXPECT_EQ(
      TrainerViolations("precision: PRECISION_FP16 execution { stores_weight_remainders: true }"),
      (std::vector<std::string>{"job.training.execution.stores_weight_remainders: must not "
                                "be true where weights are not bfloat16"}));
}

TEST(TrainerTest, WhatIsWrongIsNamed) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(TrainerViolations("trainer { }"),
            Texts({"job.training.trainer.name: required: the trainer's name, such as "
                   "\"torchtitan\""}));
  EXPECT_EQ(
      TrainerViolations(R"(framework: TRAINING_FRAMEWORK_DEEPSPEED trainer { name: "nanotron" })"),
      Texts({"job.training.framework: must be unset or TRAINING_FRAMEWORK_MEGATRON: "
             "job.training.trainer is nanotron"}));
  EXPECT_EQ(TrainerViolations(R"(trainer { name: "torchtitan" } zero_stage: ZERO_STAGE_1)"),
            Texts({"job.training.zero_stage: must be ZERO_STAGE_3 or unset: torchtitan shards "
                   "weights"}));
  EXPECT_EQ(TrainerViolations("trainer { name: \"a\\nb\" }").size(), 1u);
  EXPECT_EQ(TrainerViolations("execution { kernel_rate_ratio: 0 bucket_bytes: -1 "
                              "loss_logit_bytes: 65 rank_gather_seconds: 2 "
                              "expert_capacity_ratio: 101 }")
                .size(),
            6u)
      << "no experts, and too many rows";
}

}  // namespace
}  // namespace evenkeel::server
