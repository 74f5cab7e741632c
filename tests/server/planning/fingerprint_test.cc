#include "server/planning/fingerprint.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/job.h"
#include "planner/plan.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

// Returns a job in which every optional part is set.
planner::Job FullJob() {
  planner::Job job = JobOf(DescribedText());
  planner::MlaSpec mla{.q_lora_rank = 1536, .kv_lora_rank = 512};
  mla.qk_nope_dim = mla.v_dim = 128, mla.qk_rope_dim = 64;
  job.model.language_model.mla = mla;
  return job;
}

planner::LanguageModel& Llm(planner::Job& job) { return job.model.language_model; }
planner::Execution& Exec(planner::Job& job) { return job.training.execution; }
planner::Encoder& Enc(planner::Job& job) { return job.model.towers[0].encoder; }

using Change = std::function<void(planner::Job&)>;
struct NamedChange {
  std::string name;
  Change change;
};

// Returns one entry for each field of a job. A field that is added does not compile in
// fingerprint.cc until it is written there. It then belongs here too.
std::vector<NamedChange> ChangesOfTheModel() {
  return {
      {"model.name", [](auto& j) { j.model.name += "x"; }},
      {"towers", [](auto& j) { j.model.towers.push_back(j.model.towers[0]); }},
      {"no towers", [](auto& j) { j.model.towers.clear(); }},
      {"encoder.name", [](auto& j) { Enc(j).name += "x"; }},
      {"encoder.modality", [](auto& j) { Enc(j).modality = planner::Modality::kAudio; }},
      {"encoder.layers", [](auto& j) { ++Enc(j).layers; }},
      {"encoder.hidden", [](auto& j) { ++Enc(j).hidden; }},
      {"encoder.heads", [](auto& j) { ++Enc(j).heads; }},
      {"encoder.head_dim", [](auto& j) { ++Enc(j).head_dim; }},
      {"encoder.ffn", [](auto& j) { ++Enc(j).ffn; }},
      {"encoder.gated_mlp", [](auto& j) { Enc(j).gated_mlp ^= true; }},
      {"encoder.norm", [](auto& j) { Enc(j).norm = planner::Norm::kRmsNorm; }},
      {"encoder.qkv_bias", [](auto& j) { Enc(j).qkv_bias ^= true; }},
      {"encoder.linear_bias", [](auto& j) { Enc(j).linear_bias ^= true; }},
      {"encoder.qk_norm", [](auto& j) { Enc(j).qk_norm ^= true; }},
      {"encoder.layer_scale", [](auto& j) { Enc(j).layer_scale ^= true; }},
      {"encoder.patch_pixels", [](auto& j) { ++Enc(j).patch_pixels; }},
      {"encoder.temporal_patch", [](auto& j) { ++Enc(j).temporal_patch; }},
      {"encoder.patch_bias", [](auto& j) { Enc(j).patch_bias ^= true; }},
      {"encoder.class_tokens", [](auto& j) { ++Enc(j).class_tokens; }},
      {"encoder.learned_positions", [](auto& j) { Enc(j).learned_positions ^= true; }},
      {"encoder.tokens_per_unit", [](auto& j) { ++Enc(j).tokens_per_unit; }},
      {"encoder.llm_tokens_per_unit", [](auto& j) { ++Enc(j).llm_tokens_per_unit; }},
      {"encoder.native_resolution", [](auto& j) { Enc(j).native_resolution ^= true; }},
      {"encoder.train", [](auto& j) { Enc(j).train = planner::TrainMode::kFull; }},
      {"encoder.window_tokens", [](auto& j) { ++Enc(j).window_tokens; }},
      {"encoder.other_parameters", [](auto& j) { ++Enc(j).other_parameters; }},
      {"encoder.key_bias", [](auto& j) { Enc(j).key_bias ^= true; }},
      {"encoder.front.mel_bins", [](auto& j) { ++Enc(j).front.mel_bins; }},
      {"encoder.head_norm", [](auto& j) { Enc(j).head_norm ^= true; }},
      {"encoder.layer_norms", [](auto& j) { ++Enc(j).layer_norms; }},
      {"encoder.front.channels", [](auto& j) { ++Enc(j).front.channels; }},
      {"projector.input_width", [](auto& j) { ++j.model.towers[0].projector.input_width; }},
      {"projector.hidden_width", [](auto& j) { ++j.model.towers[0].projector.hidden_width; }},
      {"projector.norm", [](auto& j) { j.model.towers[0].projector.norm ^= true; }},
      {"projector.train",
       [](auto& j) { j.model.towers[0].projector.train = planner::TrainMode::kFrozen; }},
      {"llm.name", [](auto& j) { Llm(j).name += "x"; }},
      {"llm.layers", [](auto& j) { ++Llm(j).layers; }},
      {"llm.hidden", [](auto& j) { ++Llm(j).hidden; }},
      {"llm.heads", [](auto& j) { ++Llm(j).heads; }},
      {"llm.kv_heads", [](auto& j) { ++Llm(j).kv_heads; }},
      {"llm.head_dim", [](auto& j) { ++Llm(j).head_dim; }},
      {"llm.ffn", [](auto& j) { ++Llm(j).ffn; }},
      {"llm.gated_mlp", [](auto& j) { Llm(j).gated_mlp ^= true; }},
      {"llm.norm", [](auto& j) { Llm(j).norm = planner::Norm::kLayerNorm; }},
      {"llm.vocab", [](auto& j) { ++Llm(j).vocab; }},
      {"llm.tied_embeddings", [](auto& j) { Llm(j).tied_embeddings ^= true; }},
      {"llm.qkv_bias", [](auto& j) { Llm(j).qkv_bias ^= true; }},
      {"llm.linear_bias", [](auto& j) { Llm(j).linear_bias ^= true; }},
      {"llm.qk_norm", [](auto& j) { Llm(j).qk_norm ^= true; }},
      {"llm.learned_positions", [](auto& j) { ++Llm(j).learned_positions; }},
      {"llm.moe", [](auto& j) { Llm(j).moe.reset(); }},
      {"moe.experts", [](auto& j) { ++Llm(j).moe->experts; }},
      {"moe.top_k", [](auto& j) { ++Llm(j).moe->top_k; }},
      {"moe.expert_ffn", [](auto& j) { ++Llm(j).moe->expert_ffn; }},
      {"moe.shared_ffn", [](auto& j) { ++Llm(j).moe->shared_ffn; }},
      {"moe.first_dense_layers", [](auto& j) { ++Llm(j).moe->first_dense_layers; }},
      {"moe.expert_bias", [](auto& j) { Llm(j).moe->expert_bias ^= true; }},
      {"moe.router_scales", [](auto& j) { Llm(j).moe->router_scales ^= true; }},
      {"llm.mla", [](auto& j) { Llm(j).mla.reset(); }},
      {"mla.q_lora_rank", [](auto& j) { ++Llm(j).mla->q_lora_rank; }},
      {"mla.kv_lora_rank", [](auto& j) { ++Llm(j).mla->kv_lora_rank; }},
      {"mla.qk_nope_dim", [](auto& j) { ++Llm(j).mla->qk_nope_dim; }},
      {"mla.qk_rope_dim", [](auto& j) { ++Llm(j).mla->qk_rope_dim; }},
      {"mla.v_dim", [](auto& j) { ++Llm(j).mla->v_dim; }},
  };
}

// Fields that only some architectures set.
std::vector<NamedChange> ChangesOfItsLayers() {
  return {
      {"llm.train", [](auto& j) { Llm(j).train = planner::TrainMode::kFrozen; }},
      {"llm.index", [](auto& j) { Llm(j).index.emplace(); }},
      {"index.heads", [](auto& j) { Llm(j).index = planner::IndexSpec{.heads = 2}; }},
      {"llm.compressed", [](auto& j) { Llm(j).compressed.emplace(); }},
      {"compressed.out_rank",
       [](auto& j) { Llm(j).compressed = planner::CompressedSpec{.out_rank = 2}; }},
      {"llm.per_layer", [](auto& j) { Llm(j).per_layer = planner::PerLayerSpec{.width = 2}; }},
      {"llm.streams", [](auto& j) { ++Llm(j).streams; }},
      {"llm.runs",
       [](auto& j) {
         Llm(j).runs = {{{}, 1}};
       }},
      {"layer.value_dim",
       [](auto& j) {
         Llm(j).runs = {{{.value_dim = 64}, 1}};
       }},
      {"layer.sinks",
       [](auto& j) {
         Llm(j).runs = {{{.sinks = true}, 1}};
       }},
      {"layer.entry_tokens",
       [](auto& j) {
         Llm(j).runs = {{{.entry_tokens = 4}, 1}};
       }},
      {"layer.entries",
       [](auto& j) {
         Llm(j).runs = {{{.entry_tokens = 4, .entries = 2}, 1}};
       }},
      {"layer.key_values",
       [](auto& j) {
         Llm(j).runs = {{{.key_values = planner::KeyValues::kReused}, 1}};
       }},
      {"lora.base", [](auto& j) { Llm(j).lora.base = planner::FrozenFormat::kNf4; }},
      {"lora.base doubled", [](auto& j) { Llm(j).lora.base = planner::FrozenFormat::kNf4Double; }},
      {"lora.base int8", [](auto& j) { Llm(j).lora.base = planner::FrozenFormat::kInt8; }},
      {"recurrent", [](auto& j) { Llm(j).recurrent.emplace(); }},
      {"recurrent.gate_rank",
       [](auto& j) { Llm(j).recurrent = planner::RecurrentSpec{.gate_rank = 2}; }},
      {"recurrent.norm", [](auto& j) { Llm(j).recurrent = planner::RecurrentSpec{.norm = false}; }},
  };
}

// Fields of decoders that attend to an encoder, of conformers and of other special architectures.
std::vector<NamedChange> ChangesOfParts() {
  return {
      {"llm.stream_kind", [](auto& j) { Llm(j).stream_kind = planner::StreamKind::kAltUp; }},
      {"llm.stream_kind blocks",
       [](auto& j) { Llm(j).stream_kind = planner::StreamKind::kBlocks; }},
      {"llm.laurel_rank", [](auto& j) { ++Llm(j).laurel_rank; }},
      {"llm.key_bias", [](auto& j) { Llm(j).key_bias ^= true; }},
      {"llm.cross.width", [](auto& j) { Llm(j).cross = planner::CrossSpec{.width = 2}; }},
      {"llm.cross.tokens_per_unit",
       [](auto& j) { Llm(j).cross = planner::CrossSpec{.tokens_per_unit = 2}; }},
      {"layer.cross",
       [](auto& j) {
         Llm(j).runs = {{{.cross = true}, 1}};
       }},
      {"moe.latent_norm", [](auto& j) { Llm(j).moe = planner::MoeSpec{.latent_norm = true}; }},
      {"moe.image_ffn", [](auto& j) { Llm(j).moe = planner::MoeSpec{.image_ffn = 2}; }},
      {"recurrent.full_gate",
       [](auto& j) { Llm(j).recurrent = planner::RecurrentSpec{.full_gate = true}; }},
      {"encoder.conformer", [](auto& j) { Enc(j).conformer.conv_width = 3; }},
      {"encoder.conformer.pointwise",
       [](auto& j) { Enc(j).conformer = {.conv_width = 3, .pointwise = 2}; }},
      {"encoder.conformer.other_parameters",
       [](auto& j) { Enc(j).conformer = {.conv_width = 3, .other_parameters = 2}; }},
      {"encoder.conformer.conv_bias",
       [](auto& j) { Enc(j).conformer = {.conv_width = 3, .conv_bias = true}; }},
      {"encoder.front.second_channels", [](auto& j) { Enc(j).front.second_channels = 2; }},
      {"encoder.front.separable", [](auto& j) { Enc(j).front.separable = true; }},
      {"projector.steps", [](auto& j) { j.model.towers[0].projector.steps = {{.in = 2}}; }},
      {"projector.steps.rows",
       [](auto& j) { j.model.towers[0].projector.steps = {{.rows = 2, .in = 2}}; }},
      {"projector.steps.gated",
       [](auto& j) { j.model.towers[0].projector.steps = {{.in = 2, .gated = true}}; }},
      {"projector.resampler",
       [](auto& j) {
         j.model.towers[0].projector.steps = {{.in = 2}};
         j.model.towers[0].projector.resampler.layers = 2;
       }},
  };
}

std::vector<NamedChange> ChangesOfTheRest() {
  return {
      {"bins", [](auto& j) { j.dataset.bins.pop_back(); }},
      {"bin.units of another encoder", [](auto& j) { ++j.dataset.bins[1].units[2]; }},
      {"bin.llm_tokens", [](auto& j) { ++j.dataset.bins[1].llm_tokens; }},
      {"bin.count", [](auto& j) { ++j.dataset.bins[1].count; }},
      {"is_default", [](auto& j) { j.dataset.is_default ^= true; }},
      {"precisions", [](auto& j) { j.compare_precisions ^= true; }},
      {"shardings", [](auto& j) { j.compare_shardings ^= true; }},
  };
}

void SetDomain(planner::Job& job, const char* name, int64_t gpus, int64_t usable) {
  job.cluster.domain = {name, gpus, usable};
}

std::vector<NamedChange> ChangesOfTheCluster() {
  return {
      {"gpu.name", [](auto& j) { j.cluster.gpu.name += "x"; }},
      {"gpu.flops", [](auto& j) { j.cluster.gpu.dense_16bit_flops *= 2; }},
      {"gpu.measured", [](auto& j) { j.cluster.gpu.best_measured_16bit_flops = 1; }},
      {"gpu.memory", [](auto& j) { ++j.cluster.gpu.memory_bytes; }},
      {"gpu.hbm", [](auto& j) { j.cluster.gpu.hbm_bytes_per_second *= 2; }},
      {"gpu.scaleup", [](auto& j) { j.cluster.gpu.scaleup_bytes_per_second *= 2; }},
      {"gpu.bfloat16", [](auto& j) { j.cluster.gpu.bfloat16 ^= true; }},
      {"gpu.pairs_only", [](auto& j) { j.cluster.gpu.scaleup_pairs_only ^= true; }},
      {"gpu.power_limit", [](auto& j) { j.cluster.gpu.power_limit_watts = 500; }},
      {"gpu.pcie", [](auto& j) { j.cluster.gpu.pcie_bytes_per_second *= 2; }},
      {"gpu.costs_like", [](auto& j) { j.cluster.gpu.costs.like = "x"; }},
      {"gpu_count", [](auto& j) { ++j.cluster.gpu_count; }},
      {"gpus_per_node", [](auto& j) { ++j.cluster.gpus_per_node; }},
      {"gpus_per_full_node", [](auto& j) { ++j.cluster.gpus_per_full_node; }},
      {"intra_node", [](auto& j) { j.cluster.intra_node_bytes_per_second *= 2; }},
      {"inter_node", [](auto& j) { j.cluster.inter_node_bytes_per_second *= 2; }},
      {"domain.name", [](auto& j) { SetDomain(j, "x", 8, 8); }},
      {"domain.gpus", [](auto& j) { SetDomain(j, "", 16, 8); }},
      {"domain.usable", [](auto& j) { SetDomain(j, "", 16, 16); }},
      {"pod",
       [](auto& j) {
         j.cluster.pod = {"x", 8, 8};
       }},
      {"inter_pod",
       [](auto& j) {
         j.cluster.pod = {"x", 8, 8};
         j.cluster.inter_pod_bytes_per_second = 1;
       }},
      {"reserved", [](auto& j) { ++j.cluster.reserved_bytes; }},
      {"host_memory", [](auto& j) { ++j.cluster.host_memory_bytes; }},
      {"host_link", [](auto& j) { ++j.cluster.host_link_bytes_per_second; }},
      {"host_rate", [](auto& j) { ++j.cluster.host_memory_bytes_per_second; }},
      {"offload", [](auto& j) { j.training.offload.asked = true; }},
      {"offload.choose",
       [](auto& j) { j.training.offload.asked = j.training.offload.choose = true; }},
      {"offload.ratio",
       [](auto& j) { j.training.offload = {.asked = true, .choose = false, .ratio = 0.5}; }},
      {"offload.weights",
       [](auto& j) { j.training.offload = {.asked = true, .ratio = 1, .weights = true}; }},
      {"activations", [](auto& j) { j.training.activations.asked = true; }},
      {"activations.choose",
       [](auto& j) { j.training.activations.asked = j.training.activations.choose = true; }},
      {"activations.layers",
       [](auto& j) { j.training.activations = {.asked = true, .layers = 3, .charged_layers = 3}; }},
      {"activations.free_recompute",
       [](auto& j) {
         j.training.activations = {.asked = true,
                                   .free_recompute = planner::RecomputePolicy::kForbidden};
       }},
      {"price", [](auto& j) { j.cluster.price_per_gpu_hour *= 2; }},
  };
}

std::vector<NamedChange> ChangesOfTrainingAndTrainer() {
  return {
      {"global_batch", [](auto& j) { ++j.training.global_batch_samples; }},
      {"unit_cap", [](auto& j) { ++j.training.unit_cap; }},
      {"token_cap", [](auto& j) { ++j.training.token_cap; }},
      {"zero_stage", [](auto& j) { j.training.zero_stage = planner::ZeroStage::kOptimizer; }},
      {"trainer", [](auto& j) { j.training.trainer = &planner::DefaultTrainer(); }},
      {"trainer_name", [](auto& j) { j.training.trainer_name = "x"; }},
      {"trainer_version", [](auto& j) { j.training.trainer_version = "x"; }},
      {"host_launch", [](auto& j) { ++Exec(j).host_launch_ns; }},
      {"collective_launches", [](auto& j) { ++Exec(j).collective_launches; }},
      {"recompute_gathers", [](auto& j) { Exec(j).gathers_to_recompute ^= true; }},
      {"reduced_copies", [](auto& j) { Exec(j).copies_reduced_gradients ^= true; }},
      {"kernel_rate", [](auto& j) { Exec(j).kernel_rate = 0.5; }},
      {"update_bytes", [](auto& j) { ++Exec(j).update_bytes_per_parameter; }},
      {"loss_bytes", [](auto& j) { ++Exec(j).loss_bytes_per_logit; }},
      {"gathered_inputs", [](auto& j) { Exec(j).keeps_gathered_inputs ^= true; }},
      {"master_weights", [](auto& j) { Exec(j).casts_master_weights ^= true; }},
      {"freed_gradients", [](auto& j) { Exec(j).frees_gradients ^= true; }},
      {"whole_gradients", [](auto& j) { Exec(j).accumulates_whole_gradients ^= true; }},
      {"fused_norms", [](auto& j) { Exec(j).fused_norms ^= true; }},
      {"early_stop", [](auto& j) { Exec(j).stops_recompute_early ^= true; }},
      {"weight_hook", [](auto& j) { ++Exec(j).weight_hook_ns; }},
      {"gather_per_rank", [](auto& j) { ++Exec(j).gather_ns_per_rank; }},
      {"expert_capacity", [](auto& j) { ++Exec(j).expert_capacity; }},
      {"grouped_experts", [](auto& j) { Exec(j).grouped_experts ^= true; }},
      {"bucket_bytes", [](auto& j) { ++Exec(j).bucket_bytes; }},
      {"gradients", [](auto& j) { j.training.distributed_gradients_fp32 ^= true; }},
  };
}

std::vector<NamedChange> ChangesOfTraining() {
  return {
      {"epochs", [](auto& j) { ++j.training.epochs; }},
      {"precision", [](auto& j) { j.training.precision = planner::Precision::kFp8Current; }},
      {"precision and kept inputs",
       [](auto& j) {
         j.training.precision = planner::Precision::kFp8Current;
         j.training.execution.keeps_quantised_inputs ^= true;
       }},
      {"precision and held weights",
       [](auto& j) {
         j.training.precision = planner::Precision::kFp8Current;
         j.training.execution.holds_quantised_weights ^= true;
       }},
      {"keeps_batch", [](auto& j) { j.training.keeps_batch = true; }},
      {"fused_step", [](auto& j) { j.training.fused_step = true; }},
      {"zero_group", [](auto& j) { j.training.zero_group = 8; }},
      {"micro_batch_samples", [](auto& j) { j.training.micro_batch_samples = 4; }},
      {"micro_batch_samples and tokens",
       [](auto& j) { j.training.micro_batch_samples = 4, j.training.pad_to_tokens = 8192; }},
      {"micro_batch_samples and multiple",
       [](auto& j) { j.training.micro_batch_samples = 4, j.training.pad_to_multiple = 64; }},
      {"optimizer", [](auto& j) { j.training.optimizer = planner::Optimizer::kMuon; }},
      {"overlap_experts", [](auto& j) { j.training.execution.overlap_experts ^= true; }},
      {"dispatcher", [](auto& j) { Exec(j).dispatcher = planner::Dispatcher::kDeepEp; }},
      {"another dispatcher",
       [](auto& j) { j.training.execution.dispatcher = planner::Dispatcher::kHybridEp; }},
      {"overlap_shared_expert",
       [](auto& j) { j.training.execution.overlap_shared_expert ^= true; }},
      {"fabric",
       [](auto& j) {
         j.cluster.fabric = j.cluster.fabric == planner::Fabric::kEfa ? planner::Fabric::kRdma
                                                                      : planner::Fabric::kEfa;
       }},
      {"precision and layers in 16 bits at the start",
       [](auto& j) {
         j.training.precision = planner::Precision::kFp8Current;
         j.training.execution.start_layers_16bit = 1;
       }},
      {"precision and layers in 16 bits at the end",
       [](auto& j) {
         j.training.precision = planner::Precision::kFp8Current;
         j.training.execution.end_layers_16bit = 1;
       }},
      {"seed", [](auto& j) { ++j.training.seed; }},
      {"isf_iterations", [](auto& j) { ++j.training.isf_iterations; }},
      {"packer", [](auto& j) { j.training.packer = planner::Packer::kIsf; }},
      {"order_window", [](auto& j) { ++j.training.order_window; }},
      {"tp.min", [](auto& j) { ++j.constraints.tensor_parallel.min; }},
      {"tp.max", [](auto& j) { ++j.constraints.tensor_parallel.max; }},
      {"pp.min", [](auto& j) { ++j.constraints.pipeline_parallel.min; }},
      {"pp.max", [](auto& j) { ++j.constraints.pipeline_parallel.max; }},
      {"dp.min", [](auto& j) { ++j.constraints.data_parallel.min; }},
      {"dp.max", [](auto& j) { ++j.constraints.data_parallel.max; }},
      {"recompute", [](auto& j) { j.constraints.recompute = planner::RecomputePolicy::kAuto; }},
      {"encoder_data.min", [](auto& j) { j.constraints.encoder_data.min = 2; }},
      {"encoder_data.max", [](auto& j) { j.constraints.encoder_data.max = 7; }},
      {"memory_confidence", [](auto& j) { j.constraints.memory_confidence = 0.8; }},
      {"stage_layers", [](auto& j) { ++j.constraints.stage_layers[0]; }},
      {"stages", [](auto& j) { j.constraints.stage_layers.pop_back(); }},
      {"max_alternatives", [](auto& j) { ++j.max_alternatives; }},
      {"figures", [](auto& j) { j.figures.pop_back(); }},
      {"figure", [](auto& j) { j.figures[0].figure += "x"; }},
      {"figure.basis", [](auto& j) { j.figures[0].basis = planner::Basis::kMeasured; }},
      {"figure.detail", [](auto& j) { j.figures[0].detail += "x"; }},
  };
}

TEST(PlanId, ChangesWithEveryField) {
  std::vector<NamedChange> changes = ChangesOfTheModel();
  for (NamedChange& change : ChangesOfItsLayers()) changes.push_back(std::move(change));
  for (NamedChange& change : ChangesOfParts()) changes.push_back(std::move(change));
  for (NamedChange& change : ChangesOfTheRest()) changes.push_back(std::move(change));
  for (NamedChange& change : ChangesOfTheCluster()) changes.push_back(std::move(change));
  for (NamedChange& change : ChangesOfTrainingAndTrainer()) changes.push_back(std::move(change));
  for (NamedChange& change : ChangesOfTraining()) changes.push_back(std::move(change));
  std::map<std::string, std::string> seen = {{PlanId(FullJob()), "unchanged"}};
  for (const NamedChange& change : changes) {
    planner::Job job = FullJob();
    change.change(job);
    const auto [other, is_new] = seen.emplace(PlanId(job), change.name);
    EXPECT_TRUE(is_new) << change.name << " gives the id of " << other->second;
  }
}

// All measurements of the job count. A calibration without measurements equals none.
TEST(PlanId, CoversTheCalibration) {
  planner::Job job = FullJob();
  const std::string none = PlanId(job);
  job.calibration.layers.push_back({});
  EXPECT_EQ(PlanId(job), none);
  job.calibration.revisions = std::vector<int64_t>{3};
  const planner::Job measured = job;
  using planner::Calibration;
  const std::vector<std::function<void(Calibration&)>> changes = {
      [](auto&) {},
      [](auto& c) { c.version = "x"; },
      [](auto& c) { c.layer_version = "x"; },
      [](auto& c) { c.layers[0].kind = planner::LayerKind::kDense; },
      [](auto& c) { ++c.layers[0].tensor; },
      [](auto& c) { c.layers[0].forward.value = 2; },
      [](auto& c) { c.layers[0].backward.count = 2; },
      [](auto& c) { c.layers[0].activation.spread = 2; },
      [](auto& c) { c.layers.pop_back(); },
      [](auto& c) { c.step.value = 2; },
      [](auto& c) { c.rest_bytes = 2; },
      [](auto& c) { c.rest_count = 2; },
      [](auto& c) {
        c.revisions = std::vector<int64_t>{3, 4};
      }};
  std::map<std::string, size_t> seen = {{none, changes.size()}};
  for (size_t i = 0; i < changes.size(); ++i) {
    planner::Job changed = measured;
    changes[i](changed.calibration);
    EXPECT_TRUE(seen.emplace(PlanId(changed), i).second) << i;
  }
}

// Launch settings are part of the answer's bytes, and thus of the id. A job without any keeps its
// id.
TEST(PlanId, CoversTheLaunchSettings) {
  planner::Job job = FullJob();
  const std::string without = PlanId(job);
  job.launch.float16 = true;
  EXPECT_EQ(PlanId(job), without);  // read only for launch settings
  job.launch.frameworks = {planner::LaunchFramework::kMegatron};
  const std::string half = PlanId(job);
  EXPECT_NE(half, without);
  job.launch.float16 = false;
  const std::string megatron = PlanId(job);
  EXPECT_NE(megatron, half);
  job.launch.frameworks.push_back(planner::LaunchFramework::kFsdp);
  EXPECT_NE(PlanId(job), megatron);
}

TEST(PlanId, DoesNotDependOnTheOrderOfTrainers) {
  v1::PlanJobRequest request = Parse(MinimalText());
  request.mutable_job()->add_launch_frameworks(v1::LAUNCH_FRAMEWORK_FSDP);
  request.mutable_job()->add_launch_frameworks(v1::LAUNCH_FRAMEWORK_MEGATRON);
  const std::string id = PlanId(JobOf(request));
  request.mutable_job()->set_launch_frameworks(0, v1::LAUNCH_FRAMEWORK_MEGATRON);
  request.mutable_job()->set_launch_frameworks(1, v1::LAUNCH_FRAMEWORK_FSDP);
  EXPECT_EQ(PlanId(JobOf(request)), id);
}

TEST(PlanId, TellsWhereOneTextEndsAndTheNextBegins) {
  planner::Job a = FullJob();
  planner::Job b = FullJob();
  a.figures = {{.figure = "ab", .basis = planner::Basis::kGiven, .detail = "c"}};
  b.figures = {{.figure = "a", .basis = planner::Basis::kGiven, .detail = "bc"}};
  EXPECT_NE(PlanId(a), PlanId(b));
}

TEST(PlanId, BothZerosAreTheSame) {
  planner::Job a = FullJob();
  planner::Job b = FullJob();
  a.cluster.price_per_gpu_hour = 0.0;
  b.cluster.price_per_gpu_hour = -0.0;
  EXPECT_EQ(PlanId(a), PlanId(b));
}

TEST(PlanId, IsFiveLettersAnd32Digits) {
  const std::string id = PlanId(FullJob());
  EXPECT_EQ(id.size(), 37u);
  EXPECT_TRUE(id.starts_with("plan-"));
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef", 5), std::string::npos);
}

// Ids are the same on every platform, compiler and run. They change with the planner's revision,
// the catalogue's version and figures, and the wording of `figures`. Only then may
// EVENKEEL_UPDATE_GOLDEN=1 be used to rewrite the file.
TEST(PlanId, IsStable) {
  constexpr char kGoldenIds[] = EVENKEEL_SOURCE_DIR "/tests/server/planning/golden/plan_ids.txt";
  const std::vector<std::pair<std::string, std::string>> requests = {
      {"minimal", MinimalText()},
      {"described", DescribedText()},
      {"text_only", R"(job {
         model { name: "llama3-70b" }
         cluster { pools { gpu_type: "h100-sxm-80gb" gpu_count: 64
                           inter_node_bytes_per_second: 50e9 } }
         constraints { tensor_parallel { min: 8 max: 8 } }
       })"},
      {"modules", R"(job { model { name: "llama3-8b" }
         cluster { pools { gpu_type: "h100-sxm-80gb" gpu_count: 8 } }
         training { offload { activation_modules: [OFFLOAD_MODULE_QKV] } } })"},
      {"sorted", R"(job { model { name: "llama3-8b" language_model_train_mode: TRAIN_MODE_LORA
                 lora { rank: 8 train_embedding: true train_head: true } }
         dataset { histogram { llm_tokens: [100, 900] sample_count: [5000, 2000] } }
         cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 8 } }
         training { micro_batch_samples: 4 group_by_length: true global_batch_samples: 64 } })"},
  };
  std::string ids;
  for (const auto& [name, text] : requests) ids += name + " " + PlanId(JobOf(text)) + "\n";
  if (std::getenv("EVENKEEL_UPDATE_GOLDEN") != nullptr) std::ofstream(kGoldenIds) << ids;
  std::ifstream in(kGoldenIds);
  const std::string golden((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(ids, golden);
}

}  // namespace
}  // namespace evenkeel::server
