// How a trainer runs a model: its defaults, or what a job sets in their place. Plain values.
#ifndef EVENKEEL_PLANNER_TRAINER_EXECUTION_H_
#define EVENKEEL_PLANNER_TRAINER_EXECUTION_H_

#include <cstdint>

#include "planner/trainer/dispatcher.h"

namespace evenkeel::planner {

// The states that are sharded over the data-parallel (and context-parallel) ranks. Each stage
// includes those before it (Rajbhandari 2020, arXiv 1910.02054, section 5). kWeights is ZeRO-3, or
// FSDP.
enum class ZeroStage { kNone, kOptimizer, kGradients, kWeights };
// kFlash is the best kernel for the GPU: FlashAttention-3 or cuDNN on Hopper. kUnfused stores the s
// x s scores.
enum class AttentionKernel { kFlash, kFlash2, kUnfused };
// The data that context-parallel ranks exchange: heads (kUlysses), keys and values around a ring
// (kRing) or all at once (kAllGather), or heads inside a node and keys and values around a ring of
// such groups (kHierarchical). kUlyssesOrRing is kUlysses if there are enough heads for the degree.
// Otherwise it is kRing, with degrees that divide the heads of attention.
enum class ContextKind { kUlysses, kRing, kAllGather, kHierarchical, kUlyssesOrRing };

// Kinds of trainers, by schedules and memory layout. kFsdp has no pipeline, kDeepSpeed has neither
// pipeline nor tensor parallelism.
enum class Framework { kMegatron, kFsdp, kDeepSpeed };

// Fusion of a kernel: as the layers' other kernels (Execution::fused_kernels), always, or never.
enum class Fusion { kAsOthers, kFused, kApart };

// Host time of an operation of TransformerEngine's and Megatron's modules. Fitted on vTrain's runs
// of one node (Megatron-DeepSpeed) and AWS's of mixtures of experts (Megatron-Bridge).
inline constexpr double kMegatronLaunchNs = 60e3;

// How the trainer runs the model. The defaults are Megatron-Core with the flags that its users set.
struct Execution {
  bool sequence_parallel = true;  // norms and residuals are sharded over tensor parallel too
  AttentionKernel attention = AttentionKernel::kFlash;
  ContextKind context = ContextKind::kUlysses;
  bool dropout = false;        // dropout masks are kept
  bool deterministic = false;  // kernels whose results never differ between runs
  bool fused_loss = true;      // cross entropy without an fp32 copy of the logits' gradient
  bool overlap_gradient_reduce = true;  // overlap with backward passes of the last micro-batch
  bool overlap_weight_gather = true;    // sharded optimizer: overlap with the first forward passes
  bool overlap_tensor = false;  // overlap tensor-parallel communication with matrix products
  // Exchanges of rows between experts' ranks overlap with the compute of another micro-batch.
  bool overlap_experts = false;
  Dispatcher dispatcher = Dispatcher::kAllToAll;  // exchanges rows between experts' ranks
  // Those exchanges overlap with the products of the shared expert, which all rows pass.
  bool overlap_shared_expert = false;
  int64_t expert_tensor = 1;  // tensor parallelism inside an expert, if expert parallelism > 1
  // If false: eager modules (Hugging Face), which keep all intermediate values.
  bool fused_kernels = true;
  Fusion fused_activation = Fusion::kAsOthers;  // a gated activation and the product with its gate
  Fusion fused_rotary = Fusion::kAsOthers;      // rotary embeddings
  // With eager modules: norms and rotary embeddings are fused kernels nevertheless.
  bool fused_norms = false;
  // Bytes that an RMSNorm of eager modules keeps for each value. Above 0, it is one kernel of
  // PyTorch. 0: those of Hugging Face's, several kernels that keep an fp32 copy of the input and,
  // if the weight trains, the normalised rows.
  double rms_norm_bytes = 0;
  // Cross entropy is compiled (Megatron's "native" fusion). Used only if !fused_loss.
  bool compiled_loss = false;
  // Rows of an expert are padded or cut to this multiple of the mean. If 0, no row is dropped
  // (dropless), and the fullest rank has more rows than the mean.
  double expert_capacity = 0;
  bool grouped_experts = true;  // one launch for the products of a rank's experts
  // Bytes of the sharded optimizer's own buffers. 0 for Megatron, which reduces its gradient buffer
  // in place. 3e9 for DeepSpeed's defaults: two reduce buckets and one gather bucket of 5e8 16-bit
  // values each.
  int64_t bucket_bytes = 0;
  bool fused_weight_gradients = true;  // the product itself adds to the gradient buffer
  // Host time per operation of a layer (an operation of the cost model: a product, a norm, a
  // collective).
  double host_launch_ns = kMegatronLaunchNs;
  // Launches that a collective of tensor-parallel ranks counts as. PyTorch's code around it takes
  // the host longer than a kernel.
  int64_t collective_launches = 3;
  // Host time in the backward pass for each weight or bias that trains in full.
  double weight_hook_ns = 0;
  // Adapters of 16-bit weights are held in fp32, and their inputs are cast to it and back.
  bool fp32_adapters = false;
  // Time in ns that each adapter's matrix adds to each forward pass, and twice that to the backward
  // pass, where FSDP gathers it on its own.
  double adapter_gather_ns = 0;
  // Rate of the trainer's compute kernels over Megatron-Core's.
  double kernel_rate = 1;
  // Bytes per logit at the loss. 0 means: derived from `fused_loss` and `compiled_loss`.
  double loss_bytes_per_logit = 0;
  // Bytes per logit of a rank on top, where tensor-parallel ranks share the vocabulary.
  double tensor_loss_bytes_per_logit = 0;
  // The forward pass of a whole recomputed layer ends as soon as it has made what the backward pass
  // needs, as PyTorch's non-reentrant checkpoint does: without the layer's last product.
  bool stops_recompute_early = false;
  // ZeRO-3: ranks gather the weights of a recomputed layer once to repeat its forward pass, and
  // once more for its backward pass. If false, they gather once for both.
  bool gathers_to_recompute = false;
  // Each rank keeps the inputs that it gathers from tensor-parallel ranks. If false, it gathers
  // them again in the backward pass.
  bool keeps_gathered_inputs = false;
  // Tensor-parallel collectives copy the whole rows: they gather and scatter along the sequence,
  // which is not the first dimension of the tensor (PyTorch's DTensor).
  bool copies_tensor_rows = false;
  // With recompute of alternate products (torchtitan): the rows that experts exchange are not kept,
  // and are exchanged again.
  bool repeats_expert_exchanges = false;
  // Sharded weights (ZeRO-3) are held in fp32 only, and cast when they are gathered.
  bool casts_master_weights = false;
  // PyTorch's autocast around a model in fp32: weights are fp32, without a second copy for the
  // optimizer, and products cast them to 16 bits. Rows between layers are fp32, too.
  bool autocast = false;
  // The optimizer stores only the 16 bits of each master weight in fp32 that the weight in bfloat16
  // lacks.
  bool stores_weight_remainders = false;
  // With a recipe below 16 bits (PrecisionRecipe): linear layers keep their inputs quantised until
  // the backward pass, and their weights until the next step, as TransformerEngine does. If false,
  // they quantise both at each product, as torchao does.
  bool keeps_quantised_inputs = true;
  // With such a recipe: weights are held, and gathered, only in the products' format, where the
  // recipe allows it. If false, the quantised copies exist in addition to 16-bit weights.
  bool holds_quantised_weights = false;
  // With such a recipe: transformer layers of the language model that stay in 16 bits, at its start
  // and at its end.
  int64_t start_layers_16bit = 0, end_layers_16bit = 0;
  // Bytes per trained parameter, of the rank's share of the optimizer, that are held only during
  // the optimizer's step.
  double update_bytes_per_parameter = 0;
  // Gradients are freed after the optimizer's step, and the first backward pass of the next one
  // makes them again (zero_grad with set_to_none). If false, they are held all the time.
  bool frees_gradients = false;
  // Gradients that are not sharded are copied to buckets, which all ranks reduce and which are held
  // all the time: PyTorch's DDP without gradient_as_bucket_view.
  bool copies_reduced_gradients = false;
  // Shards of gradients are allocated on a stream of their own, as PyTorch's FSDP does. The caching
  // allocator keeps memory by stream, so the memory of freed gradients stays reserved for the next
  // ones.
  bool pools_gradients = false;
  // Where gradients are sharded and a step has several micro-batches: ranks reduce them after the
  // last one, and until then accumulate whole ones (no_sync of PyTorch's FSDP1,
  // set_requires_gradient_sync of FSDP2).
  bool accumulates_whole_gradients = false;
  // Bytes of the GPU's memory that gathering one 16-bit weight (ZeRO-3) moves, and reducing its
  // gradient. Compute waits for the memory meanwhile.
  double gather_traffic_bytes = 0, reduce_traffic_bytes = 0;
  bool reduces_fp32 = false;  // ZeRO-3: gradients are sent in fp32 instead of 16 bits
  // Time in ns that each rank of a sharded optimizer adds to gathering weights, if each broadcasts
  // its own.
  double gather_ns_per_rank = 0;
};

// Returns the bytes of a whole accumulated gradient. FSDP2 holds it in the format in which it will
// be reduced (to_accumulated_grad_if_needed of
// torch/distributed/fsdp/_fully_shard/_fsdp_param.py).
inline int64_t WholeGradientBytes(const Execution& execution) {
  return execution.reduces_fp32 ? 4 : 2;
}

// Returns the bytes of a weight that products read, as it is held.
inline double HeldWeightBytes(const Execution& execution) { return execution.autocast ? 4 : 2; }

// Returns the bytes of a value in rows between layers.
inline double RowValueBytes(const Execution& execution) { return execution.autocast ? 4 : 2; }

// Returns whether norms are fused kernels, and rotary embeddings.
inline bool FusesNorms(const Execution& execution) {
  return execution.fused_kernels || execution.fused_norms;
}

inline bool FusesRotary(const Execution& execution) {
  return execution.fused_rotary == Fusion::kAsOthers ? FusesNorms(execution)
                                                     : execution.fused_rotary == Fusion::kFused;
}

// Returns whether a gated activation and its product with the gate are one kernel.
inline bool FusesActivation(const Execution& execution) {
  return execution.fused_activation == Fusion::kAsOthers
             ? execution.fused_kernels
             : execution.fused_activation == Fusion::kFused;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_EXECUTION_H_
