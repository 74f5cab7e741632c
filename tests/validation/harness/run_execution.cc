// The settings of a published run that differ from its trainer's defaults.
#include <cstdlib>
#include <regex>

#include "planner/trainer/executions.h"
#include "planner/trainer/trainers.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using namespace planner;  // NOLINT: the planner's values throughout

bool Says(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

// Hugging Face's models repeated all of a layer before transformers 5 (pull request 43203), and
// PyTorch before 2.1, with which LLM Foundry's runs on A100 were made. torchtitan repeats all since
// its setting for that came in 2025.
bool StopsRecomputeEarly(const Json& row, const Trainer& trainer, const Execution& usual) {
  const std::string date = Text(row, "date");
  const bool checkpoint_of_models = trainer.framework == planner::Framework::kDeepSpeed ||
                                    Text(Child(row, "trainer"), "name") == "huggingface-fsdp";
  if (checkpoint_of_models) return date >= "2026-01";  // transformers 5
  if (trainer.name == "llm-foundry") return !Says(Text(row, "gpu"), "A100");
  return trainer.name == "torchtitan" ? date < "2025-09" : usual.stops_recompute_early;
}

// Megatron-Bridge and NeMo leave a gated activation unfused in models that do not set
// bias_activation_fusion: Qwen's dense ones do not, and Llama's do.
bool FusesActivationOf(const Json& row, const Trainer& trainer) {
  const bool wrapper = trainer.name == "megatron-bridge" || trainer.name == "nemo";
  const Json& model = Child(row, "model");
  const bool dense = !Child(model, "moe").is_object();
  return !(wrapper && dense && Says(Text(model, "name"), "qwen"));
}

void SetLoss(const Json& row, const Trainer& trainer, Execution& e) {
  const std::string date = Text(row, "date");
  const bool titan = trainer.name == "torchtitan", chunked = titan && date >= "2026-05";
  if (titan && !chunked)
    e.loss_bytes_per_logit = kHeldLogitsLossBytes, e.tensor_loss_bytes_per_logit = 4;
  // A loss that is compiled with the model holds 16-bit logits and their gradient. torchtitan
  // compiles it since April 2025 (pull requests 755 and 1033).
  const bool chunks = e.loss_bytes_per_logit == kChunkedLossBytes;
  if (chunks && !Flag(row, "chunked_loss", true)) e.loss_bytes_per_logit = kHeldLogitsLossBytes;
  const bool eager_loss = !e.fused_loss && !chunks &&
                          (trainer.alternate_products || e.loss_bytes_per_logit == kEagerLossBytes);
  if (eager_loss && Flag(row, "compiled") && Flag(row, "compiled_loss", true) &&
      (!trainer.alternate_products || date.empty() || date >= "2025-04"))
    e.loss_bytes_per_logit = chunked ? 4 / kTitanLossChunks : 4, e.tensor_loss_bytes_per_logit = 0;
  if (const double bytes = Real(row, "loss_logit_bytes"); bytes > 0) e.loss_bytes_per_logit = bytes;
}

void SetFusionsAndWeights(const Json& row, const Trainer& trainer, Execution& e) {
  e.stores_weight_remainders = Flag(row, "weight_remainders", e.stores_weight_remainders);
  const auto fusion = [&](const char* key, bool usual) {
    if (!row.contains(key)) return usual ? Fusion::kAsOthers : Fusion::kApart;
    return Flag(row, key) ? Fusion::kFused : Fusion::kApart;
  };
  e.fused_activation = fusion("fused_activation", FusesActivationOf(row, trainer));
  e.fused_rotary = fusion("fused_rotary", true);
  // torchtitan's norms were several kernels before PyTorch 2.9.
  if (trainer.name == "torchtitan" && Text(row, "date") < "2025-10") e.rms_norm_bytes = 0;
}

}  // namespace

void SetExecution(const Json& row, Training& training) {
  Execution& e = training.execution;
  e = DefaultExecution(*training.trainer, training.zero_stage, training.optimizer,
                       Text(row, "precision") != "fp16");
  const std::string kernel = Text(row, "attention_kernel");
  // TransformerEngine has no unfused attention over context-parallel ranks.
  if (kernel == "unfused" && Int(row, "cp", 1) == 1) e.attention = AttentionKernel::kUnfused;
  // Megatron-Core's own layers (DotProductAttention) have no other.
  if (Flag(row, "local_layers")) e.attention = AttentionKernel::kUnfused;
  if (kernel == "cuDNN" || kernel == "flash 3") e.attention = AttentionKernel::kFlash;
  if (kernel == "flash 2" || Says(kernel, "Triton") || Says(kernel, "SDPA"))
    e.attention = AttentionKernel::kFlash2;
  const Json& overlap = Child(row, "overlap");
  e.overlap_gradient_reduce = Flag(overlap, "grad_reduce", e.overlap_gradient_reduce);
  e.overlap_weight_gather = Flag(overlap, "param_gather", e.overlap_weight_gather);
  e.overlap_tensor = Flag(overlap, "tp", e.overlap_tensor);
  e.overlap_experts = Flag(overlap, "ep", e.overlap_experts);
  const std::string dispatcher = Text(row, "dispatcher");
  if (Says(dispatcher, "DeepEP") || dispatcher == "flex") e.dispatcher = Dispatcher::kDeepEp;
  if (Says(dispatcher, "HybridEP")) e.dispatcher = Dispatcher::kHybridEp;
  if (dispatcher == "allgather") e.dispatcher = Dispatcher::kAllGather;
  e.fused_kernels = Flag(row, "compiled", e.fused_kernels) || e.fused_kernels;
  SetLoss(row, *training.trainer, e);
  // Hugging Face's Trainer took an AdamW that is not fused, with PyTorch before 2.8.
  const bool plain =
      training.trainer->name == "huggingface-trainer" && training.zero_stage == ZeroStage::kNone;
  const std::string date = Text(row, "date");
  const bool shards = Text(Child(row, "trainer"), "name") == "huggingface-fsdp";
  if ((plain || shards) && !date.empty() && date < "2025-08")
    e.update_bytes_per_parameter = training.optimizer == Optimizer::kAdam16Bit ? 2 : 4;
  // PEFT holds adapters in fp32 since 0.12. With accelerate's FSDP, their gathered copies have 16
  // bits.
  e.fp32_adapters = Flag(row, "fp32_adapters", e.fp32_adapters && date >= "2024-08");
  if (Flag(row, "adapters_gathered_alone", shards)) e.adapter_gather_ns = kAdapterGatherNs;
  e.accumulates_whole_gradients = Flag(row, "whole_gradients", e.accumulates_whole_gradients);
  e.reduces_fp32 = Flag(row, "reduces_fp32", e.reduces_fp32);
  SetFusionsAndWeights(row, *training.trainer, e);
  e.stops_recompute_early = StopsRecomputeEarly(row, *training.trainer, e);
  // The checkpoint of Hugging Face's models is around the layers that FSDP wraps.
  if (shards) e.gathers_to_recompute = !e.stops_recompute_early;
  // Its list of what to keep for Qwen3 had no exchanges (torchtitan/models/qwen3/infra, 057fedda).
  const bool qwen3 = Says(Text(Child(row, "model"), "name"), "qwen3");
  e.repeats_expert_exchanges = training.trainer->name == "torchtitan" && qwen3 && date < "2026-02";
  e.expert_tensor = Int(row, "etp", 1);
  e.dropout = Flag(row, "dropout");
  e.deterministic = Flag(row, "deterministic");
  if (e.deterministic && e.fused_kernels) e.fused_weight_gradients = false;
  if (row.contains("compiled_loss")) {
    e.fused_loss = false;
    e.compiled_loss = Flag(row, "compiled_loss");
  }
  if (Flag(row, "ring")) e.context = ContextKind::kRing;
  // NVIDIA's MLPerf configurations capture whole iterations.
  if (Flag(row, "cuda_graphs") || Text(Child(row, "trainer"), "name") == "mlperf-nemo")
    e.host_launch_ns = 0;
  e.sequence_parallel = Flag(row, "sequence_parallel", e.sequence_parallel);
  const bool fp32 =
      AccumulatesInFp32(*training.trainer, training.zero_stage, Text(row, "precision") == "fp16");
  training.distributed_gradients_fp32 = !Flag(row, "gradients_16bit", !fp32);
  if (Flag(row, "autocast")) SetAutocast(&training);
  const std::string routing = Text(row, "routing");
  if (Says(routing, "force-balanced")) e.expert_capacity = 1;
  static const std::regex kCapacity("capacity ([0-9.]+)");
  std::smatch match;
  if (std::regex_search(routing, match, kCapacity))
    e.expert_capacity = std::strtod(match[1].str().c_str(), nullptr);
}

}  // namespace evenkeel::validation
