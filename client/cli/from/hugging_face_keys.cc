// Keys of Hugging Face's TrainingArguments (transformers/training_args.py, 4.56 and 5.15) with
// those of TRL's SFTConfig that say how long samples are, and of PEFT's LoraConfig
// (peft/tuners/lora/config.py, 0.17).
#include <iterator>

#include "client/cli/from/keys.h"

namespace evenkeel::cli {
namespace {

constexpr KeyRecord kArgumentsRead[] = {
    {"per_device_train_batch_size", Field::kMicroBatch, "training.micro_batch_samples"},
    {"gradient_accumulation_steps", Field::kAccumulation, "training.global_batch_samples"},
    {"gradient_checkpointing", Field::kRecompute, "stages.layers.recomputed"},
    {"fsdp_config.activation_checkpointing", Field::kFsdpRecompute, "stages.layers.recomputed"},
    {"fsdp_config.fsdp_activation_checkpointing", Field::kFsdpRecompute,
     "stages.layers.recomputed"},
    {"bf16", Field::kBf16, "training.precision"},
    {"fp16", Field::kFp16, "training.precision"},
    {"optim", Field::kOptimizer, "training.optimizer"},
    {"group_by_length", Field::kGroupByLength, "training.group_by_length"},
    {"train_sampling_strategy", Field::kSampling, "training.group_by_length"},
    {"fsdp", Field::kFsdp, "training.zero_stage"},
    {"fsdp_config.reshard_after_forward", Field::kReshard, "training.zero_stage"},
    {"fsdp_config.fsdp_reshard_after_forward", Field::kReshard, "training.zero_stage"},
    {"num_train_epochs", Field::kEpochs, "training.epochs"},
    {"max_length", Field::kSeqLength, "dataset.histogram.llm_tokens"},
    {"max_seq_length", Field::kSeqLength, "dataset.histogram.llm_tokens"},
    {"model_max_length", Field::kSeqLength, "dataset.histogram.llm_tokens"},
    {"model_name_or_path", Field::kModelName, "model.name"},
};

constexpr NotPredicted kArgumentsNotPredicted[] = {
    {"packing", "samples of TRL that are packed", true},
    {"padding_free", "samples of TRL that are laid end to end", true},
    {"tp_size", "tensor parallelism of Hugging Face's modules", true},
    {"parallelism_config", "parallelism of accelerate's ParallelismConfig", true},
    {"parallelism_config.*", "parallelism of accelerate's ParallelismConfig", true},
    {"fsdp_config", "a file of FSDP's settings: put them into the arguments", true},
    {"fsdp_config.xla*", "XLA", true},
    {"fsdp_config.offload_params", "weights in host memory: \"offload\" in fsdp says so", true},
    {"fsdp_config.fsdp_offload_params", "weights in host memory: \"offload\" in fsdp says so",
     true},
    {"max_steps", "the job's time is that of its epochs"},
    {"auto_find_batch_size", "micro-batches are taken to be as large as they are given"},
    {"torch_compile", "modules are taken to be eager"},
    {"torch_compile_*", "modules are taken to be eager"},
    {"use_liger_kernel", "kernels and loss are taken to be PyTorch's"},
    {"liger_kernel_config.*", "kernels and loss are taken to be PyTorch's"},
    {"optim_target_modules", "all weights are taken to have the optimizer's states"},
    {"optim_args", "the optimizer is taken to have its defaults"},
    {"torch_empty_cache_steps", "the allocator is taken to keep its cache"},
    {"activation_offloading", "activations in host memory", true},
    {"gradient_checkpointing_kwargs.context_fn", "every layer is taken to recompute whole"},
    {"use_cpu", "training without GPUs", true},
};

constexpr const char* kArgumentsIrrelevant[] = {"output_dir",
                                                "overwrite_output_dir",
                                                "run_name",
                                                "project",
                                                "trackio*",
                                                "do_*",
                                                "eval_*",
                                                "per_device_eval_batch_size",
                                                "per_gpu_*",
                                                "prediction_loss_only",
                                                "batch_eval_metrics",
                                                "fp16_full_eval",
                                                "bf16_full_eval",
                                                "include_*",
                                                "jit_mode_eval",
                                                "learning_rate",
                                                "weight_decay",
                                                "adam_*",
                                                "max_grad_norm",
                                                "lr_scheduler*",
                                                "warmup_*",
                                                "log_*",
                                                "logging_*",
                                                "save_*",
                                                "restore_*",
                                                "load_best_model_at_end",
                                                "metric_for_best_model",
                                                "greater_is_better",
                                                "ignore_data_skip",
                                                "seed",
                                                "data_seed",
                                                "full_determinism",
                                                "hub_*",
                                                "push_to_hub*",
                                                "report_to",
                                                "dataloader_*",
                                                "remove_unused_columns",
                                                "label_names",
                                                "label_smoothing_factor",
                                                "length_column_name",
                                                "resume_from_checkpoint",
                                                "past_index",
                                                "disable_tqdm",
                                                "skip_memory_metrics",
                                                "ddp_*",
                                                "local_rank",
                                                "debug",
                                                "tf32",
                                                "half_precision_backend",
                                                "fp16_backend",
                                                "fp16_opt_level",
                                                "use_ipex",
                                                "use_cache",
                                                "accelerator_config.*",
                                                "average_tokens_across_devices",
                                                "neftune_noise_alpha",
                                                "gradient_checkpointing_kwargs.*",
                                                "fsdp_min_num_params",
                                                "fsdp_transformer_layer_cls_to_wrap",
                                                "fsdp_config.*",
                                                "mp_parameters",
                                                "enable_jit_checkpoint",
                                                "use_mps_device",
                                                "no_cuda",
                                                "use_legacy_prediction_loop",
                                                "evaluation_strategy",
                                                "split_batches",
                                                "dispatch_batches",
                                                "auto_find_batch_size_*",
                                                "dataset_text_field",
                                                "dataset_num_proc",
                                                "dataset_kwargs.*",
                                                "model_init_kwargs.*",
                                                "completion_only_loss",
                                                "assistant_only_loss",
                                                "eos_token",
                                                "pad_token",
                                                "chat_template_path",
                                                "eval_packing",
                                                "dataset_batch_size",
                                                "shuffle_dataset",
                                                "num_of_sequences",
                                                "chars_per_token"};

constexpr KeyRecord kAdapterRead[] = {
    {"r", Field::kLoraRank, "model.lora.rank"},
    {"lora_dropout", Field::kLoraDropout, "model.lora.dropout_ratio"},
    {"target_modules", Field::kLoraTargets, "model.lora.targets"},
    {"modules_to_save", Field::kLoraSaved, "model.lora.train_embedding, train_head"},
    {"base_model_name_or_path", Field::kModelName, "model.name"},
    {"peft_type", Field::kAdapterType, "model.language_model_train_mode"},
};

constexpr NotPredicted kAdapterNotPredicted[] = {
    {"use_dora", "the norms of DoRA are left out"},
    {"use_qalora", "adapters are taken to be LoRA's"},
    {"rank_pattern.*", "ranks that differ between layers", true},
    {"layers_to_transform", "adapters in some layers alone", true},
    {"exclude_modules", "all modules with a listed name are taken to have an adapter"},
    {"target_parameters", "adapters beside single parameters, such as experts", true},
    {"trainable_token_indices*", "single tokens that train", true},
    {"layer_replication", "layers that are copied", true},
    {"lora_bias", "biases of adapters are left out"},
    {"bias", "biases are taken to be frozen"},
};

// The scale of an adapter (lora_alpha) multiplies a small result, and init says what it begins as.
constexpr const char* kAdapterIrrelevant[] = {
    "lora_alpha",        "alpha_pattern*",         "use_rslora",
    "init_lora_weights", "inference_mode",         "task_type",
    "auto_mapping*",     "fan_in_fan_out",         "layers_pattern",
    "revision",          "loftq_config*",          "eva_config*",
    "corda_config*",     "megatron_config*",       "megatron_core",
    "qalora_group_size", "rank_pattern",           "peft_version",
    "runtime_config*",   "ensure_weight_tying",    "lora_ga_config*",
    "arrow_config*",     "alora_invocation_tokens"};

}  // namespace

const KeyTables& TrainingArgumentsKeys() {
  static const auto* const kTables = new KeyTables{
      .read = {std::begin(kArgumentsRead), std::end(kArgumentsRead)},
      .not_predicted = {std::begin(kArgumentsNotPredicted), std::end(kArgumentsNotPredicted)},
      .irrelevant = {std::begin(kArgumentsIrrelevant), std::end(kArgumentsIrrelevant)}};
  return *kTables;
}

const KeyTables& AdapterKeys() {
  static const auto* const kTables = new KeyTables{
      .read = {std::begin(kAdapterRead), std::end(kAdapterRead)},
      .not_predicted = {std::begin(kAdapterNotPredicted), std::end(kAdapterNotPredicted)},
      .irrelevant = {std::begin(kAdapterIrrelevant), std::end(kAdapterIrrelevant)}};
  return *kTables;
}

}  // namespace evenkeel::cli
