// The planner's record of each trainer. Adding a trainer means adding a record.
#ifndef EVENKEEL_PLANNER_TRAINER_TRAINERS_H_
#define EVENKEEL_PLANNER_TRAINER_TRAINERS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "planner/trainer/execution.h"
#include "planner/trainer/offload.h"
#include "planner/trainer/optimizer.h"

namespace evenkeel::planner {

// The ranks that share the images of a pack under a trainer: Parallelism::encoder_data.
enum class EncoderSplit {
  kNone,     // 1
  kContext,  // always the context degree
  kAny       // 1, the context degree, or tensor x context
};

// The updates of layers inside the backward pass that a trainer has, if weights are sharded.
enum class FusedStep { kNone, kWithoutExpertParallel, kAny };

// How the model is cut into stages. kBmp (OmniBal's balanced model partition), kParameters (equal
// parameters), kLayers (equal layers) and kProfile (PipeDream's partition by profiled times) are
// published methods, for comparison. kLayersLast and kWeights are the only cuts of some trainers:
// equal layers whose remainder goes to the last stages, and stages that each end at the first layer
// with which the weights so far exceed an equal share.
enum class PartitionMethod { kExact, kBmp, kParameters, kLayers, kProfile, kLayersLast, kWeights };

struct Trainer {
  std::string_view name;   // name in the contract, such as "torchtitan"
  std::string_view alias;  // another name that it goes by, or empty
  std::string_view title;  // name for people
  bool has_record = true;  // false for "generic", whose defaults are assumed
  Framework framework = Framework::kMegatron;
  // The files or documents that its defaults follow, and the published runs on which its rates were
  // fitted.
  std::string_view source;
  int fitted_runs = 0;  // 0 if nothing was fitted
  // Abilities.
  bool tensor_parallel = true;
  bool pipeline = true;
  bool expert_parallel = true;
  bool selective_recompute = true;  // if false, it recomputes whole layers or nothing
  // Counts only if selective_recompute is false: it can also recompute a layer except for
  // attention, exchanges and every second product (kAlternateProducts).
  bool alternate_products = false;
  // Tensors of the model's width that a layer keeps if it is recomputed. 1: it is recomputed as a
  // whole. A trainer that recomputes attention, MLP and norms one by one keeps the input of each.
  // Layers of experts always count as a whole.
  int64_t checkpoint_inputs = 1;
  bool one_recompute_setting = false;  // all stages have the same recompute
  // Counts only with one_recompute_setting: it can recompute the first layers of each stage, not
  // only all of them.
  bool block_recompute = true;
  // It pads the vocabulary, so that each tensor-parallel rank's part suits the GPU's kernels.
  bool pads_vocabulary = true;
  bool interleaves = true;            // runs several virtual stages per stage
  bool context_with_pipeline = true;  // context parallelism works in a pipeline
  // The cut of a job that asks for none. kExact: the trainer takes any.
  PartitionMethod partition_method = PartitionMethod::kExact;
  bool cuts_encoder = true;  // if false, the first stage runs a whole encoder, up to its projector
  EncoderSplit encoder_split = EncoderSplit::kNone;
  bool always_shards_weights = false;
  bool low_precision = false;       // runs recipes below 16 bits (PrecisionRecipe)
  bool keeps_layers_16bit = false;  // with such a recipe, can keep the first and last layers in 16
  bool quantised_base = false;      // trains adapters with frozen weights in 4 or 8 bits
  DispatcherSet dispatchers = DispatcherBit(Dispatcher::kAllToAll);
  OffloadAbility offload = {};
  ActivationAbility activations = {};
  FusedStep fused_step = FusedStep::kNone;
  // How its users turn on a fused step, and the offload of activations, if launch settings cannot:
  // as a sentence and as words after a colon, without the full stop; empty if the record does not
  // say.
  std::string_view fused_step_hint;
  std::string_view activation_hint;
  // Its context-parallel ranks run TransformerEngine's attention, where its kernels are fused. That
  // copies no key and value heads for ranks that exchange heads, rings with neither windows nor
  // sinks, and gathers without sinks (attn_forward_func_with_cp of transformer_engine/pytorch/
  // attention/dot_product_attention/context_parallel.py; issue 2541 for sinks).
  bool transformer_engine_context = false;
  bool megatron_kernels = false;  // its softmax and, where kernels are fused, TransformerEngine's
  // The memory that it holds is Megatron's, whose published peaks validate the predicted ones.
  bool megatron_memory = false;
  // Defaults where the job says nothing.
  ZeroStage zero_stage = ZeroStage::kOptimizer;
  bool fp32_gradients = true;  // accumulates gradients in fp32; if false, in 16 bits
  // It accumulates them in 16 bits nevertheless if weights are float16. Megatron-LM sets
  // accumulate_allreduce_grads_in_fp32 only with bfloat16 (validate_args of
  // megatron/training/arguments.py), and DeepSpeed's optimizer for float16 takes gradients as they
  // are (deepspeed/runtime/fp16/fused_optimizer.py).
  bool fp16_gradients_16bit = false;
  // Moments below fp32 are those of TransformerEngine's FusedAdam, which Megatron-Core sets with
  // --use-precision-aware-optimizer (core/optimizer/__init__.py). It stores remainders of bfloat16
  // weights (store_param_remainders), and updates fp32 copies of all moments at once
  // (get_unscaled_state of pytorch/optimizers/fused_adam.py).
  bool precision_aware_optimizer = false;
  // It accumulates gradients in 16 bits at every ZeRO stage but 0, as DeepSpeed's engine does
  // unless data_types says otherwise (get_data_types of deepspeed/runtime/engine.py).
  bool sharded_gradients_16bit = false;
  Execution default_execution = {};                                     // below ZeRO stage 3
  Execution default_execution_at_zero3 = {};                            // at ZeRO stage 3
  std::optional<Execution> default_execution_unsharded = std::nullopt;  // at stage 0, if it differs
};

// Returns all records. The first of each framework is that framework's default.
std::span<const Trainer> Trainers();

const Trainer& TrainerOf(Framework framework);
inline const Trainer& DefaultTrainer() { return TrainerOf(Framework::kMegatron); }

// Returns the record of a name or alias in lower case, or nullptr if there is none.
const Trainer* FindTrainer(std::string_view name);

// Returns the record "generic", which stands for trainers without a record.
const Trainer& GenericTrainer();

// Returns which shares of the optimizer the trainer can keep on the host at this ZeRO stage.
inline OffloadShares OffloadSharesOf(const Trainer& trainer, ZeroStage stage) {
  return trainer.offload.by_stage[static_cast<size_t>(stage)];
}

// Returns whether the trainer accumulates gradients in fp32 by default at this ZeRO stage.
inline bool AccumulatesInFp32(const Trainer& trainer, ZeroStage stage, bool float16) {
  return trainer.fp32_gradients && !(float16 && trainer.fp16_gradients_16bit) &&
         !(stage != ZeroStage::kNone && trainer.sharded_gradients_16bit);
}

// Returns how the trainer runs a model by default at this ZeRO stage.
const Execution& DefaultExecution(const Trainer& trainer, ZeroStage stage);

// Returns DefaultExecution with the fields that depend on the optimizer. `bfloat16`: weights are in
// bfloat16.
Execution DefaultExecution(const Trainer& trainer, ZeroStage stage, Optimizer optimizer,
                           bool bfloat16);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_TRAINERS_H_
