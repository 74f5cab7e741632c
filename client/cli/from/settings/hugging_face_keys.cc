// Keys of Hugging Face's TrainingArguments (transformers/training_args.py, 4.56 to 5.24), of TRL's
// SFTConfig (trl/trainer/sft_config.py, 0.12 to 1.16) and of PEFT's LoraConfig
// (peft/tuners/lora/config.py, 0.17 to 0.21). "fsdp_" in front of a key of fsdp_config is taken
// off.
#include <iterator>

#include "client/cli/from/settings/keys.h"

namespace evenkeel::cli {
namespace {

// What the type in which weights are loaded sets.
constexpr char kLoadedTypeSets[] = "training.optimizer, training.execution.autocast";

constexpr KeyRecord kArgumentsRead[] = {
    {"per_device_train_batch_size", Field::kMicroBatch, "training.micro_batch_samples"},
    {"per_gpu_train_batch_size", Field::kMicroBatch, "training.micro_batch_samples"},
    {"gradient_accumulation_steps", Field::kAccumulation, "training.global_batch_samples"},
    {"gradient_checkpointing", Field::kRecompute, "stages.layers.recomputed"},
    {"activation_checkpointing", Field::kRecompute, "stages.layers.recomputed"},
    {"grad_checkpoint", Field::kRecompute, "stages.layers.recomputed"},
    {"gradient_checkpointing_kwargs.every_n_layers", Field::kRecomputeEvery,
     "stages.layers.recomputed"},
    {"activation_checkpointing_kwargs.every_n_layers", Field::kRecomputeEvery,
     "stages.layers.recomputed"},
    {"use_liger_kernel", Field::kLiger, "execution.loss_logit_bytes"},
    {"use_liger", Field::kLiger, "execution.loss_logit_bytes"},
    {"cut_cross_entropy", Field::kCutsLoss, "execution.loss_logit_bytes"},
    {"liger_kernel_config.fused_linear_cross_entropy", Field::kLigerLoss,
     "execution.loss_logit_bytes"},
    {"liger_kernel_config.swiglu", Field::kLigerActivation, "execution.fused_activation"},
    {"liger_kernel_config.rope", Field::kLigerRotary, "execution.fused_rotary"},
    {"liger_kernel_config.rms_norm", Field::kLigerRmsNorm, "execution.rms_norm_bytes"},
    {"loss_type", Field::kLossType, "execution.loss_logit_bytes"},
    {"torch_compile", Field::kCompile, "execution.fused_kernels"},
    {"bf16", Field::kBf16, "training.precision"},
    {"full_determinism", Field::kDeterministic, "execution.deterministic"},
    {"fp16", Field::kFp16, "training.precision"},
    {"model_init_kwargs.torch_dtype", Field::kLoadedType, kLoadedTypeSets},
    {"model_init_kwargs.dtype", Field::kLoadedType, kLoadedTypeSets},
    {"torch_dtype", Field::kLoadedType, kLoadedTypeSets},
    {"dtype", Field::kLoadedType, kLoadedTypeSets},
    {"optim", Field::kOptimizer, "training.optimizer"},
    {"adafactor", Field::kAdafactor, "training.optimizer"},
    {"group_by_length", Field::kGroupByLength, "training.group_by_length"},
    {"train_sampling_strategy", Field::kSampling, "training.group_by_length"},
    {"fsdp", Field::kFsdp, "training.zero_stage"},
    {"fsdp_config.version", Field::kFsdpVersion, "training.zero_stage"},
    {"fsdp_config.reshard_after_forward", Field::kReshard, "training.zero_stage"},
    {"fsdp_config.auto_wrap_policy", Field::kFsdpWrap, "training.zero_stage"},
    {"fsdp_config.cpu_offload", Field::kFsdpOffload, "training.offload"},
    {"accelerator_config.gradient_accumulation_kwargs.sync_each_batch", Field::kSyncEachBatch,
     "training.execution.accumulates_whole_gradients"},
    {"fsdp_config.activation_checkpointing", Field::kFsdpRecompute, "stages.layers.recomputed"},
    {"gradient_checkpointing_kwargs.use_reentrant", Field::kReentrant,
     "training.execution.stops_recompute_early"},
    {"activation_checkpointing_kwargs.use_reentrant", Field::kReentrant,
     "training.execution.stops_recompute_early"},
    {"num_train_epochs", Field::kEpochs, "training.epochs"},
    {"max_steps", Field::kTrainSteps, "dataset.histogram.sample_count"},
    {"max_length", Field::kMaxLength, "dataset.histogram.llm_tokens"},
    {"max_seq_length", Field::kMaxSeqLength, "dataset.histogram.llm_tokens"},
    {"model_max_length", Field::kModelMaxLength, "dataset.histogram.llm_tokens"},
    // run_clm.py of transformers joins samples and cuts the text into blocks.
    {"block_size", Field::kBlockSize, "dataset.histogram.llm_tokens"},
    {"pad_to_multiple_of", Field::kPadMultiple, "training.padding.multiple"},
    {"packing", Field::kPacking, "batch_rule.token_cap"},
    {"packing_strategy", Field::kPackingStrategy, "batch_rule.token_cap"},
    {"padding_free", Field::kPaddingFree, "batch_rule.token_cap"},
    {"model_init_kwargs.attn_implementation", Field::kAttentionBackend,
     "execution.attention_kernel"},
    {"attn_implementation", Field::kAttentionBackend, "execution.attention_kernel"},
    {"model_name_or_path", Field::kModelName, "model.name"},
    // ModelConfig of TRL (trl/trainer/model_config.py).
    {"use_peft", Field::kUsesPeft, "model.language_model_train_mode"},
    {"lora_r", Field::kLoraRank, "model.lora.rank"},
    {"lora_dropout", Field::kLoraDropout, "model.lora.dropout_ratio"},
    {"lora_target_modules", Field::kLoraTargets, "model.lora.targets"},
    {"lora_modules_to_save", Field::kLoraSaved, "model.lora.train_embedding, train_head"},
    {"activation_offloading", Field::kOffloadsInputs, "training.offload.activation_layers"},
    {"load_in_4bit", Field::kLoads4Bit, "model.lora.base_format"},
    {"load_in_8bit", Field::kLoads8Bit, "model.lora.base_format"},
    {"model_init_kwargs.quantization_config.load_in_8bit", Field::kLoads8Bit,
     "model.lora.base_format"},
    {"bnb_4bit_quant_type", Field::kQuantType, "model.lora.base_format"},
    {"use_bnb_nested_quant", Field::kNestedQuant, "model.lora.base_format"},
    {"model_init_kwargs.quantization_config.load_in_4bit", Field::kLoads4Bit,
     "model.lora.base_format"},
    {"model_init_kwargs.quantization_config.bnb_4bit_quant_type", Field::kQuantType,
     "model.lora.base_format"},
    {"model_init_kwargs.quantization_config.bnb_4bit_use_double_quant", Field::kNestedQuant,
     "model.lora.base_format"},
    // Programs that add adapters themselves: LLaVA, FastChat, Qwen-VL, InternVL.
    {"use_lora", Field::kProgramLora, "model.language_model_train_mode"},
    {"lora_enable", Field::kProgramLora, "model.language_model_train_mode"},
    {"use_llm_lora", Field::kProgramLora, "model.language_model_train_mode"},
    {"use_backbone_lora", Field::kEncoderLora, "model.encoder_train_mode"},
    {kAdaptsEncoderKey, Field::kAdaptsEncoder, "model.encoder_train_mode"},
    {kFreezesAdaptedLlmKey, Field::kFreezesAdaptedLlm, "model.language_model_train_mode"},
    {"q_lora", Field::kProgramQLora, "model.lora.base_format"},
    {"bits", Field::kBits, "model.lora.base_format"},
    {"double_quant", Field::kNestedQuant, "model.lora.base_format"},
    {"quant_type", Field::kQuantType, "model.lora.base_format"},
    // Programs whose models have encoders.
    {"vision_tower", Field::kVisionTower, "model.encoders"},
    {"vision_path", Field::kVisionModel, "model.encoders"},
    {"freeze_llm", Field::kFreezesLlm, "model.language_model_train_mode"},
    // InternVL's is the encoder; LLaVA's is the language model.
    {"freeze_backbone", Field::kFreezesEncoder,
     "model.encoder_train_mode, language_model_train_mode"},
    {"freeze_mlp", Field::kFreezesProjector, "projector.train_mode"},
    {"tune_mm_llm", Field::kTrainsLlm, "model.language_model_train_mode"},
    {"tune_mm_vision", Field::kTrainsEncoder, "model.encoder_train_mode"},
    {"unfreeze_mm_vision_tower", Field::kTrainsEncoder, "model.encoder_train_mode"},
    {"tune_mm_mlp", Field::kTrainsProjector, "projector.train_mode"},
    {"tune_mm_mlp_adapter", Field::kTrainsProjectorAlone, "model.language_model_train_mode"},
    {"mm_tunable_parts", Field::kTrainedParts, "model.encoder_train_mode"},
};

// Said of several keys.
constexpr char kQuantised[] = "weights that are quantised so; accepted: load_in_4bit, load_in_8bit";
constexpr char kQuantisedBy[] =
    "weights quantised by this key; accepted: load_in_4bit in quantization_config";

constexpr NotPredicted kArgumentsNotPredicted[] = {
    {"tp_size", "tensor parallelism of Hugging Face's modules", true},
    {"model_init_kwargs.tp_*", "tensor parallelism of Hugging Face's modules", true},
    {"parallelism_config", "parallelism of accelerate's ParallelismConfig", true},
    {"parallelism_config.*", "parallelism of accelerate's ParallelismConfig", true},
    {"fsdp_config.xla*", "XLA", true},
    {"fsdp_config.sharding_strategy",
     "a strategy by this key, which transformers does not read: \"fsdp\" names it", true},
    {"fsdp_config.offload_params",
     "weights in host memory by this key, which transformers does not read: \"offload\" in fsdp "
     "or cpu_offload says so",
     true},
    {"fsdp_config.activation_checkpointing_offload", "activations in host memory", true},
    {"fsdp_config.activation_cpu_offload", "activations in host memory", true},
    {"fsdp_config.min_num_params", kGathersLayers},
    {"fsdp_min_num_params", kGathersLayers},
    {"fsdp_config.backward_prefetch", "gathers are taken to overlap as in version 2 of FSDP"},
    {"fsdp_config.forward_prefetch", "gathers are taken to overlap as in version 2 of FSDP"},
    {"fsdp_config.ignored_modules", "all modules are taken to be sharded"},
    {"fsdp_config.mixed_precision_policy*", "weights are taken to be gathered in 16 bits"},
    // split_to_even_chunks of llava/train/llava_trainer.py
    {"group_by_modality_length",
     "samples are taken in random order: LLaVA's sampler levels the ranks of a step, but each "
     "micro-batch still has samples of all lengths"},
    {"auto_find_batch_size", "micro-batches are taken to be as large as they are given"},
    {"torch_compile_*", "torch.compile is taken to have its defaults"},
    {"torchdynamo", "modules are taken to be eager; torch_compile fuses their kernels"},
    {"liger_kernel_config.*",
     "kernels other than swiglu, rope, rms_norm and the loss are taken to be PyTorch's"},
    {"label_smoothing_factor", "the loss is taken to be without smoothing, which holds less"},
    {"optim_target_modules", "all weights are taken to have the optimizer's states"},
    {"optim_args", "the optimizer is taken to have its defaults"},
    {"torch_empty_cache_steps", "the allocator is taken to keep its cache"},
    {"gradient_checkpointing_kwargs.offload", "activations in host memory", true},
    {"activation_checkpointing_kwargs.offload", "activations in host memory", true},
    {"gradient_checkpointing_kwargs.context_fn", "every layer is taken to recompute whole"},
    {"activation_checkpointing_kwargs.context_fn", "every layer is taken to recompute whole"},
    {"accelerator_config.split_batches", "micro-batches that ranks divide among them", true},
    {"split_batches", "micro-batches that ranks divide among them", true},
    {"use_cpu", "training without GPUs", true},
    {"no_cuda", "training without GPUs", true},
    {"model_init_kwargs.device_map*", "each GPU is taken to run the whole model"},
    {"model_init_kwargs.quantization_config", kQuantised, true},
    {"model_init_kwargs.load_in_4bit", kQuantisedBy, true},
    {"model_init_kwargs.load_in_8bit", kQuantisedBy, true},
    {"lora_target_parameters", "adapters of single parameters, such as experts", true},
    {"use_dora", "the norms of DoRA are left out"},
    // DPO, KTO, reward models, PPO and GRPO of TRL.
    {"beta", kOtherLoss, true},
    {"max_prompt_length", kOtherLoss, true},
    {"max_completion_length", kOtherLoss, true},
    {"precompute_ref_log_probs", kOtherLoss, true},
    {"center_rewards_coefficient", kOtherLoss, true},
    {"num_generations", kOtherLoss, true},
    {"num_ppo_epochs", kOtherLoss, true},
};

constexpr const char* kArgumentsIrrelevant[] = {
    "output_dir", "overwrite_output_dir", "run_name", "project", "trackio*", "do_*", "eval_*",
    "per_device_eval_batch_size", "per_gpu_eval_batch_size", "prediction_loss_only",
    "batch_eval_metrics", "fp16_full_eval", "bf16_full_eval", "include_*", "jit_mode_eval",
    "learning_rate", "weight_decay", "adam_*", "max_grad_norm", "lr_scheduler*", "warmup_*",
    "log_*", "logging_*", "save_*", "restore_*", "load_best_model_at_end", "metric_for_best_model",
    "greater_is_better", "ignore_data_skip", "seed", "data_seed", "hub_*", "push_to_hub*",
    "report_to", "dataloader_*", "remove_unused_columns", "label_names", "length_column_name",
    "resume_from_checkpoint", "past_index", "disable_tqdm", "skip_memory_metrics", "ddp_*",
    "local_rank", "ray_scope", "debug", "tf32", "tpu_*", "half_precision_backend", "fp16_backend",
    "fp16_opt_level", "use_ipex", "use_cache", "accelerator_config.dispatch_batches",
    "accelerator_config.even_batches", "accelerator_config.use_seedable_sampler",
    "accelerator_config.non_blocking", "accelerator_config.use_configured_state",
    "average_tokens_across_devices", "neftune_noise_alpha", "fsdp_transformer_layer_cls_to_wrap",
    "fsdp_config.transformer_layer_cls_to_wrap", "fsdp_config.state_dict_type",
    "fsdp_config.sync_module_states", "fsdp_config.cpu_ram_efficient_loading",
    "fsdp_config.use_orig_params", "fsdp_config.limit_all_gathers", "mp_parameters",
    "enable_jit_checkpoint", "use_mps_device", "use_legacy_prediction_loop", "evaluation_strategy",
    "dispatch_batches", "auto_find_batch_size_*", "_n_gpu", "dataset_text_field",
    "dataset_num_proc", "dataset_kwargs.*", "model_init_kwargs.trust_remote_code",
    "model_init_kwargs.revision", "model_init_kwargs.use_cache",
    "model_init_kwargs.low_cpu_mem_usage", "model_init_kwargs.cache_dir", "model_init_kwargs.token",
    "model_init_kwargs.use_safetensors", "model_init_kwargs.local_files_only",
    "model_init_kwargs.quantization_config.*", "bnb_4bit_*", "trust_remote_code", "model_revision",
    "lora_alpha", "lora_task_type", "use_rslora", "dataset_name", "dataset_config*",
    "dataset_train_split", "dataset_test_split", "dataset_streaming", "dataset_mixer*",
    "dataset_mixture*", "dataset_splits", "preprocessing_num_workers", "chat_template",
    // Keys of programs around the Trainer.
    "data_path", "eval_data_path", "train_file*", "validation_file*", "validation_split_percentage",
    "preprocess_num_workers", "overwrite_cache", "cache_dir", "lazy_preprocess", "tokenizer_name*",
    "use_fast_tokenizer", "config_name", "completion_only_loss", "assistant_only_loss", "eos_token",
    "pad_token", "chat_template_path", "truncation_mode", "shuffle_dataset", "dataset_batch_size",
    "num_of_sequences", "chars_per_token", "env.*", "image_folder", "mm_use_im_*",
    "mm_projector_lr", "mm_vision_tower_lr", "pretrain_mm_mlp_adapter", "mm_vision_select_*",
    "mm_projector_type", "lora_weight_path"};

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
    {"use_bdlora", "adapters are taken to be LoRA's"},
    {"velora_config*", "adapters are taken to be LoRA's"},
    {"kasa_config*", "adapters are taken to be LoRA's"},
    {"monteclora_config*", "adapters are taken to be LoRA's"},
    {"rank_pattern.*", "ranks that differ between layers", true},
    {"layers_to_transform", "adapters in some layers alone", true, true},
    {"exclude_modules", "all modules with a listed name are taken to have an adapter"},
    {"target_parameters", "adapters of single parameters, such as experts", true},
    {"trainable_token_indices*", "single tokens that train", true, true},
    {"layer_replication", "layers that are copied", true, true},
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
