#include "planner/launch/megatron_arguments.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <absl/strings/str_join.h>

#include "planner/cost/expert_dispatch.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"
#include "planner/launch/emitters.h"
#include "planner/launch/megatron_optimizer.h"
#include "planner/model/layer_runs.h"

namespace evenkeel::planner {
namespace {

// Returns the layers that have experts, as an expression of Python: "([0]*3+[1]*58)".
std::string ExpertLayers(const LanguageModel& model) {
  std::string text;
  for (const LayerRun& run : RunsOf(model))
    text += (text.empty() ? "([" : "+[") + std::string(run.layer.experts ? "1" : "0") + "]*" +
            std::to_string(run.count);
  return text + ")";
}

// Returns whether every linear layer but the head has a bias.
bool HasAllBiases(const LanguageModel& m) {
  const bool mlp = m.moe ? m.moe->mlp_bias && m.moe->expert_bias : m.mlp_bias;
  return m.linear_bias || (m.qkv_bias && m.out_bias && mlp);
}

// Adds the layers that attend to a window. A number N stands for all but every N-th layer.
void AddWindows(const LanguageModel& m, Arguments& out) {
  int64_t window = 0, period = 0, layer = 0;
  bool periodic = true;
  std::string list;
  for (const LayerRun& run : RunsOf(m)) {
    const bool windows = run.layer.attention == AttentionKind::kWindow;
    if (windows) window = run.layer.window_tokens;
    for (int64_t i = 0; i < run.count; ++i) {
      ++layer;
      if (!windows && period == 0) period = layer;
      periodic = periodic && (windows == (period == 0 || layer % period != 0));
      list += std::string(list.empty() ? "[" : ",") + (windows ? "1" : "0");
    }
  }
  if (window == 0) return;
  out.Add("--window-size", "(" + std::to_string(window - 1) + ",0)");  // tokens in front
  if (period == 0) return;
  out.Add("--window-attn-skip-freq", periodic ? std::to_string(period) : list + "]");
}

void AddModel(const ModelSpec& model, Arguments& out) {
  const LanguageModel& m = model.language_model;
  out.Add("--num-layers", m.layers);
  out.Add("--hidden-size", m.hidden);
  out.Add("--ffn-hidden-size", m.ffn);
  out.Add("--num-attention-heads", m.heads);
  if (m.mla) {
    out.Add("--multi-latent-attention");
    if (m.mla->q_lora_rank > 0) out.Add("--q-lora-rank", m.mla->q_lora_rank);
    out.Add("--kv-lora-rank", m.mla->kv_lora_rank);
    out.Add("--qk-head-dim", m.mla->qk_nope_dim);
    out.Add("--qk-pos-emb-head-dim", m.mla->qk_rope_dim);
    out.Add("--v-head-dim", m.mla->v_dim);
  } else {
    if (m.kv_heads != m.heads) {
      out.Add("--group-query-attention");
      out.Add("--num-query-groups", m.kv_heads);
    }
    out.Add("--kv-channels", m.head_dim);
  }
  if (m.gated_mlp) out.Add("--swiglu");
  out.Add("--normalization", m.norm == Norm::kRmsNorm ? "RMSNorm" : "LayerNorm");
  if (!HasAllBiases(m)) out.Add("--disable-bias-linear");
  if (m.qkv_bias && !HasAllBiases(m)) out.Add("--add-qkv-bias");
  // With latent attention, Megatron-Core normalizes the latents only with this flag.
  if (m.qk_norm || m.mla) out.Add("--qk-layernorm");
  if (!m.tied_embeddings) out.Add("--untie-embeddings-and-output-weights");
  if (m.learned_positions == 0) out.Add("--position-embedding-type", "rope");
  if (m.attention_sinks) out.Add("--softmax-type", "learnable");
  AddWindows(m, out);
  if (m.predicted_tokens > 0) out.Add("--mtp-num-layers", m.predicted_tokens);
  if (!m.moe) return;
  out.Add("--num-experts", m.moe->experts);
  out.Add("--moe-router-topk", m.moe->top_k);
  out.Add("--moe-ffn-hidden-size", m.moe->expert_ffn);
  if (m.moe->shared_ffn > 0) out.Add("--moe-shared-expert-intermediate-size", m.moe->shared_ffn);
  if (CountLayers(m, LayerKind::kDense) > 0) out.Add("--moe-layer-freq", ExpertLayers(m));
}

void AddDispatcher(const Execution& execution, Dispatcher dispatcher, Arguments& out) {
  const bool nccl = RecordOf(dispatcher).nccl;
  out.Add("--moe-token-dispatcher-type", !nccl                                  ? "flex"
                                         : dispatcher == Dispatcher::kAllGather ? "allgather"
                                                                                : "alltoall");
  if (!nccl) out.Add("--moe-flex-dispatcher-backend", std::string(RecordOf(dispatcher).name));
  if (execution.overlap_shared_expert) out.Add("--moe-shared-expert-overlap");
}

// Groups of neighbours exchange heads. The ranks at equal places of the groups exchange keys and
// values.
void AddContext(const Job& job, const Parallelism& p, Arguments& out) {
  if (p.context == 1) return;
  const int64_t heads = HeadRanksOf(job, p, Network(job.cluster, job.constants));
  if (job.training.execution.context == ContextKind::kAllGather) {
    out.Add("--cp-comm-type", "all_gather");
  } else if (heads == 1 || heads == p.context) {
    out.Add("--cp-comm-type", heads == 1 ? "p2p" : "a2a");
  } else {
    out.Add("--cp-comm-type", "a2a+p2p");
    out.Add("--hierarchical-context-parallel-sizes", heads);
    out.Add(std::to_string(p.context / heads));
  }
}

void AddDegrees(const Trials& trials, const PlanSpec& spec, Arguments& out) {
  const Job& job = trials.job();
  const Parallelism& p = spec.parallelism;
  const Execution& e = job.training.execution;
  out.Add("--tensor-model-parallel-size", p.tensor);
  out.Add("--pipeline-model-parallel-size", p.pipeline);
  out.Add("--context-parallel-size", p.context);
  AddContext(job, p, out);
  if (job.model.language_model.moe) {
    out.Add("--expert-model-parallel-size", p.expert);
    out.Add("--expert-tensor-parallel-size", p.expert > 1 ? e.expert_tensor : p.tensor);
    // Without other ranks, a library's kernels would have nothing to send.
    AddDispatcher(
        e, p.expert > 1 ? PlannedDispatcher(job, p, trials.batching().mean) : Dispatcher::kAllToAll,
        out);
    if (e.grouped_experts) out.Add("--moe-grouped-gemm");
    if (e.overlap_experts && p.expert > 1) out.Add("--overlap-moe-expert-parallel-comm");
  }
  if (p.tensor > 1 && e.sequence_parallel) out.Add("--sequence-parallel");
  if (p.tensor > 1 && e.sequence_parallel && e.overlap_tensor) out.Add("--tp-comm-overlap");
  if (p.pipeline > 1) out.Add("--pipeline-model-parallel-layout", MegatronLayout(job.model, spec));
  const int64_t group = MicroBatchGroup(p.pipeline, spec.micro_batches);
  if (spec.schedule == Schedule::kInterleaved && group != p.pipeline)
    out.Add("--microbatch-group-size-per-virtual-pipeline-stage", group);
}

// In examples/multimodal, --seq-length is the encoder's length. The length that the encoder
// produces replaces it there. The longest of several encoders counts; at native resolution, where a
// unit is a token, an image may take the whole pack.
void AddBatch(const Trials& trials, const PlanSpec& spec, Arguments& out) {
  const ModelSpec& model = trials.job().model;
  const int64_t tokens = EvenLength(trials, spec, SampleTokens(trials));
  const int64_t samples = SamplesOf(trials.job().training);
  out.Add("--micro-batch-size", samples);
  out.Add("--global-batch-size", spec.micro_batches * spec.parallelism.data * samples);
  if (model.towers.empty()) {
    out.Add("--seq-length", tokens);
  } else {
    int64_t unit = 1;
    for (const EncoderTower& tower : model.towers)
      unit = std::max(unit, tower.encoder.llm_tokens_per_unit);
    out.Add("--seq-length", unit == 1 ? tokens : std::min(tokens, EvenLength(trials, spec, unit)));
    out.Add("--decoder-seq-length", tokens);
  }
  const int64_t learned = model.language_model.learned_positions;
  out.Add("--max-position-embeddings", learned > 0 ? learned : tokens);
  out.Add("--calculate-per-token-loss");
}

void AddOptimizer(const Training& training, bool sharded, Arguments& out) {
  const MegatronOptimizer optimizer = OptimizerSetFor(training);
  if (sharded && optimizer.distributed) out.Add("--use-distributed-optimizer");
  if (optimizer.name != nullptr)
    out.Add("--optimizer", sharded ? optimizer.sharded_name : optimizer.name);
  if (training.offload.ratio > 0) {
    out.Add("--use-precision-aware-optimizer");  // which --optimizer-cpu-offload needs
    out.Add("--optimizer-cpu-offload");
    out.Add("--optimizer-offload-fraction", ShareText(training.offload.ratio));
    out.Add("--overlap-cpu-optimizer-d2h-h2d");
  }
  if (!IsPrecisionAware(training)) return;
  if (training.offload.ratio == 0) out.Add("--use-precision-aware-optimizer");
  if (optimizer.moments == nullptr) return;
  out.Add("--exp-avg-dtype", optimizer.moments);
  out.Add("--exp-avg-sq-dtype", optimizer.moments);
}

// Megatron-LM's names of the recipes (arguments.py, _add_transformer_engine_args).
void AddPrecision(const Training& training, Arguments& out) {
  struct Names {
    Precision precision;
    const char *format, *recipe;
  };
  constexpr Names kFp8[] = {{Precision::kFp8Delayed, "hybrid", "delayed"},
                            {Precision::kFp8Current, "hybrid", "tensorwise"},
                            {Precision::kFp8Block, "e4m3", "blockwise"},
                            {Precision::kMxfp8, "e4m3", "mxfp8"}};
  for (const auto& [precision, format, recipe] : kFp8) {
    if (training.precision != precision) continue;
    out.Add("--fp8-format", format);
    out.Add("--fp8-recipe", recipe);
    if (HoldsQuantisedWeights(training)) out.Add("--fp8-param-gather");
  }
  if (training.precision == Precision::kNvfp4) {
    out.Add("--fp4-format", "e2m1");
    out.Add("--fp4-recipe", "nvfp4");
  }
  const Execution& e = training.execution;
  if (training.precision == Precision::k16Bit ||
      (e.start_layers_16bit == 0 && e.end_layers_16bit == 0))
    return;
  out.Add("--first-last-layers-bf16");
  out.Add("--num-layers-at-start-in-bf16", e.start_layers_16bit);
  out.Add("--num-layers-at-end-in-bf16", e.end_layers_16bit);
}

// TransformerEngine has no FlashAttention for sinks, and only some versions of it for latent
// attention. With --deterministic-mode Megatron refuses one that is asked for by name.
const char* AttentionBackend(const Job& job) {
  const LanguageModel& m = job.model.language_model;
  if (job.training.execution.attention == AttentionKernel::kUnfused) return "unfused";
  if (m.attention_sinks) return "fused";
  return m.mla || job.training.execution.deterministic ? "auto" : "flash";
}

void AddExecution(const Job& job, const Parallelism& p, Arguments& out) {
  const Training& t = job.training;
  const Execution& e = t.execution;
  const bool sharded = p.data * p.context > 1;
  out.Add(job.launch.float16 ? "--fp16" : "--bf16");
  if (job.launch.float16) {
    if (t.distributed_gradients_fp32) out.Add("--accumulate-allreduce-grads-in-fp32");
  } else if (!t.distributed_gradients_fp32) {
    out.Add("--grad-reduce-in-bf16");
  }
  AddPrecision(t, out);
  const bool distributes = sharded || t.offload.ratio > 0 || IsPrecisionAware(t);
  AddOptimizer(t, t.zero_stage != ZeroStage::kNone && distributes, out);
  if (const int64_t copies = WeightCopies(p), shards = ShardRanks(t, copies);
      t.zero_stage == ZeroStage::kOptimizer && shards < copies)
    out.Add("--num-distributed-optimizer-instances", copies / shards);
  if (t.zero_stage == ZeroStage::kGradients || t.zero_stage == ZeroStage::kWeights) {
    out.Add("--use-megatron-fsdp");
    out.Add("--data-parallel-sharding-strategy",
            t.zero_stage == ZeroStage::kWeights ? "optim_grads_params" : "optim_grads");
    out.Add("--ckpt-format", "fsdp_dtensor");  // Megatron-FSDP refuses all other formats
  }
  const bool overlaps = sharded && OptimizerSetFor(t).distributed;
  if (e.overlap_gradient_reduce && overlaps) out.Add("--overlap-grad-reduce");
  if (e.overlap_weight_gather && overlaps && t.zero_stage != ZeroStage::kNone)
    out.Add("--overlap-param-gather");
  out.Add("--transformer-impl", e.fused_kernels ? "transformer_engine" : "local");
  out.Add("--attention-backend", AttentionBackend(job));
  if (e.deterministic) out.Add("--deterministic-mode");
  if (e.fused_loss || e.compiled_loss) {
    out.Add("--cross-entropy-loss-fusion");
    out.Add("--cross-entropy-fusion-impl", e.fused_loss ? "te" : "native");
  }
  if (!e.fused_weight_gradients) out.Add("--no-gradient-accumulation-fusion");
  if (!FusesActivation(e) && job.model.language_model.gated_mlp) out.Add("--no-bias-swiglu-fusion");
  if (!FusesRotary(e)) out.Add("--no-rope-fusion");
  out.Add("--attention-dropout", e.dropout ? "0.1" : "0.0");
  out.Add("--hidden-dropout", e.dropout ? "0.1" : "0.0");
}

// FlagScale reads values per stage only together with a process mesh. A single mesh, without
// --enable-hetero, changes nothing else; FlagScale's runner replaces the GPU type by the one that a
// host file names.
void AddPerStage(const Job& job, const PlanSpec& spec, const std::vector<int64_t>& per_stage,
                 Arguments& out) {
  const Parallelism& p = spec.parallelism;
  out.Add("--recompute-num-layers-per-stage-micro-batch");
  for (int64_t chunk = 0; chunk < p.virtual_stages; ++chunk) {
    for (const int64_t layers : per_stage)
      out.Add("[1, " + std::to_string(spec.micro_batches) + ", " + std::to_string(layers) + "]");
  }
  out.Add("--hetero-process-meshes");
  for (const int64_t degree : {p.tensor, p.context, p.expert, p.data, p.pipeline})
    out.Add(std::to_string(degree));
  out.Add("--hetero-device-types", job.cluster.gpu.name);
  out.Add("--hetero-current-device-type", job.cluster.gpu.name);
}

void AddRecompute(const Job& job, const RecomputeFlags& setting, const PlanSpec& spec,
                  Arguments& out) {
  if (!setting.modules.empty()) {
    out.Add("--recompute-granularity", "selective");
    out.Add("--recompute-modules");
    for (const std::string& module : setting.modules) out.Add(module);
    return;
  }
  if (setting.block.empty()) return;
  out.Add("--recompute-granularity", "full");
  const bool uniform = setting.all && !setting.encoder;
  out.Add("--recompute-method", uniform ? "uniform" : "block");
  // If each stage has its own value, this one only has to be present.
  const bool per_stage = setting.block.size() > 1;
  out.Add("--recompute-num-layers", uniform || per_stage ? 1 : setting.block.front());
  if (setting.encoder) out.Add("--recompute-vision");
  if (per_stage) AddPerStage(job, spec, setting.block, out);
}

// TransformerEngine offloads the first layers. Modules are offloaded in every layer.
void AddActivations(const Job& job, const PlanSpec& spec, Arguments& out) {
  if (job.training.activations.modules != 0) {
    out.Add("--fine-grained-activation-offloading");
    out.Add("--offload-modules");
    for (const auto& [name, module] : kOffloadModuleNames)
      if ((job.training.activations.modules & module) != 0) out.Add(name);
  }
  if (MegatronOffloadsActivations(job, spec.parallelism))
    out.Add("--cpu-offloading-num-layers", job.training.activations.layers);
}

}  // namespace

std::vector<std::string> MegatronArguments(const Trials& trials, const PlanSpec& spec,
                                           const RecomputeFlags& setting) {
  const Job& job = trials.job();
  std::vector<std::string> words;
  Arguments arguments(&words);
  AddModel(job.model, arguments);
  AddDegrees(trials, spec, arguments);
  AddBatch(trials, spec, arguments);
  AddExecution(job, spec.parallelism, arguments);
  AddRecompute(job, setting, spec, arguments);
  AddActivations(job, spec, arguments);
  return words;
}

std::string LeftToTheModel(const LanguageModel& m) {
  std::vector<std::string> parts;
  const std::vector<LanguageLayer> classes = ClassesOf(m);
  if (m.layer_norms != 2) parts.push_back(std::to_string(m.layer_norms) + " norms per layer");
  if (!m.norm_weights) parts.push_back("norms without weights");
  if (m.width_qk_norm) parts.push_back("norms over the width of all queries and of all keys");
  if (!HasAllBiases(m) && (m.out_bias || m.mlp_bias)) parts.push_back("biases of some layers");
  if (m.embedding_norm) parts.push_back("the norm behind the token embedding");
  if (m.mlp_scalars > 0) parts.push_back("the scalars of activations");
  if (m.head_bias) parts.push_back("a bias of the head");
  if (m.index || (m.mla && m.mla->index_heads > 0))
    parts.push_back("the index of sparse attention");
  if (m.attention_gate) parts.push_back("the gate of attention's output");
  if (m.recurrent) parts.push_back("the recurrent layers");
  if (m.compressed) parts.push_back("attention to compressed tokens");
  if (m.per_layer) parts.push_back("the embedding of each layer");
  if (m.streams > 1) parts.push_back(std::to_string(m.streams) + " residual streams");
  if (m.laurel_rank > 0) parts.push_back("the low-rank residual");
  if (m.cross) parts.push_back("attention to the encoder's tokens");
  if (m.moe && m.moe->router_scales) parts.push_back("the scales of the router");
  if (m.moe && m.moe->shared_gate) parts.push_back("the gate of the shared expert");
  for (const LanguageLayer& layer : classes) {
    if (layer.attention != AttentionKind::kChunked) continue;
    parts.push_back("attention in chunks of " + std::to_string(layer.window_tokens) + " tokens");
    break;
  }
  const auto any = [&](const auto& has) {
    return std::any_of(classes.begin(), classes.end(), has);
  };
  if (any([](const LanguageLayer& layer) { return layer.value_dim != layer.head_dim; }))
    parts.push_back("heads of values with a width of their own");
  if (any([](const LanguageLayer& layer) { return layer.key_values != KeyValues::kProjected; }))
    parts.push_back("keys that are values too, or those of other layers");
  if (any([](const LanguageLayer& layer) { return layer.sinks; }))
    parts.push_back("sinks of some layers");
  if (any([&](const LanguageLayer& layer) {
        return Attends(layer.mixer) && (layer.heads != m.heads || layer.kv_heads != m.kv_heads ||
                                        (!m.mla && layer.head_dim != m.head_dim));
      }))
    parts.push_back("heads that differ between layers");
  std::set<int64_t> windows;
  for (const LanguageLayer& layer : classes)
    if (layer.attention == AttentionKind::kWindow) windows.insert(layer.window_tokens);
  if (windows.size() > 1) parts.push_back("windows of several sizes");
  return absl::StrJoin(parts, ", ");
}

}  // namespace evenkeel::planner
