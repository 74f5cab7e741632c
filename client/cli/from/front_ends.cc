// Sources: src/llamafactory/hparams and model/model_utils/checkpointing.py of LLaMA-Factory (0.9);
// src/axolotl/utils/schemas, loaders/model.py and loaders/adapter.py of axolotl (0.8 to 0.12).
#include "client/cli/from/front_ends.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <algorithm>

#include "client/cli/exit_codes.h"

namespace evenkeel::cli {
namespace {

constexpr char kOtherObjective[] = "a loss beside a reference or reward model";
constexpr char kOtherOptimizer[] = "this optimizer";
constexpr char kOtherKernels[] = "kernels are taken to be PyTorch's";
constexpr char kAdaptersKernels[] = "adapters are taken to have PEFT's kernels";
constexpr char kSplit[] = "ranks that share a sequence, a layer or experts";
constexpr char kTuned[] = "training of some weights alone, other than LoRA";
constexpr char kNotCut[] = "attention is taken to be the model's own";

using Translation = std::vector<Setting>;

std::string Word(const Setting& setting) {
  return setting.values.size() == 1 ? absl::AsciiStrToLower(setting.values.front()) : "";
}

bool IsTrue(const Setting& setting) { return Word(setting) == "true"; }

[[noreturn]] void Fail(const Setting& setting, const std::string& why) {
  throw CommandError(ExitCode::kBadInput, Describe(setting) + ": " + why);
}

// Returns the setting as one of TrainingArguments.
Setting As(const char* key, const Setting& setting) {
  return {key, setting.values, setting.where, setting.key, setting.values};
}
Setting As(const char* key, const std::string& value, const Setting& setting) {
  return {key, {value}, setting.where, setting.key, setting.values};
}

// Lists are words with commas between them.
Setting AsList(const char* key, const Setting& setting) {
  Setting list = As(key, setting);
  if (list.values.size() == 1) {
    list.values.clear();
    for (const absl::string_view item : absl::StrSplit(setting.values.front(), ','))
      list.values.emplace_back(absl::StripAsciiWhitespace(item));
  }
  return list;
}

struct RenamedKey {
  const char *theirs, *ours;
};

const char* OursOf(const RenamedKey* begin, const RenamedKey* end, const std::string& theirs) {
  const auto* const found =
      std::find_if(begin, end, [&](const RenamedKey& key) { return theirs == key.theirs; });
  return found == end ? nullptr : found->ours;
}

bool Has(const std::vector<Setting>& settings, const char* key) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const Setting& setting) { return setting.key == key; });
}

const Setting* Find(const std::vector<Setting>& settings, const char* key) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

constexpr RenamedKey kFactoryRenamed[] = {{"lora_rank", "lora_r"},
                                          {"cutoff_len", "max_length"},
                                          {"enable_liger_kernel", "use_liger_kernel"},
                                          {"double_quantization", "use_bnb_nested_quant"},
                                          {"quantization_type", "bnb_4bit_quant_type"},
                                          {"freeze_language_model", "freeze_llm"},
                                          {"freeze_multi_modal_projector", "freeze_mlp"}};

void TranslateFactoryMethod(const Setting& setting, Translation* out) {
  const std::string word = Word(setting);
  if (setting.key == "stage") {
    if (word != "sft" && word != "pt") Fail(setting, std::string("not yet: ") + kOtherObjective);
    if (word == "pt") out->push_back(As("packing_strategy", "wrapped", setting));
  } else if (word == "lora" || word == "full") {
    out->push_back(As("use_peft", word == "lora" ? "true" : "false", setting));
  } else {
    Fail(setting, std::string("not yet: ") + kTuned + "; accepted: lora, full");
  }
}

void TranslateFactoryQuantization(const Setting& setting, Translation* out) {
  if (setting.key == "quantization_bit") {
    if (Word(setting) != "4") Fail(setting, "not yet: weights with so many bits; accepted: 4");
    out->push_back(As("load_in_4bit", "true", setting));
  } else if (Word(setting) != "bnb" && Word(setting) != "bitsandbytes") {
    Fail(setting, "not yet: weights that are quantised so; accepted: bnb");
  }
}

void TranslateFactoryAttention(const Setting& setting, Translation* out) {
  constexpr RenamedKey kNames[] = {
      {"disabled", "eager"}, {"sdpa", "sdpa"}, {"fa2", "flash_attention_2"}};
  const std::string word = Word(setting);
  if (word == "auto") return;
  const char* name = OursOf(std::begin(kNames), std::end(kNames), word);
  if (name == nullptr) Fail(setting, "must be auto, disabled, sdpa or fa2");
  out->push_back(As("attn_implementation", name, setting));
}

std::vector<Setting> TranslateFactory(const std::vector<Setting>& settings, UserConfig* config) {
  Translation out;
  const bool neat = Find(settings, "neat_packing") && IsTrue(*Find(settings, "neat_packing"));
  const Setting* packing = Find(settings, "packing");
  if (packing != nullptr && IsTrue(*packing) && !neat)
    config->notes.push_back(Describe(*packing) +
                            ": without neat_packing, samples of a pack attend to each other, "
                            "which takes longer than predicted.");
  for (const Setting& setting : settings) {
    const std::string key = setting.key;
    if (key == "finetuning_type" || key == "stage") {
      TranslateFactoryMethod(setting, &out);
    } else if (key == "lora_target") {
      out.push_back(Word(setting) == "all" ? As("lora_target_modules", "all-linear", setting)
                                           : AsList("lora_target_modules", setting));
    } else if (key == "additional_target") {
      out.push_back(AsList("lora_modules_to_save", setting));
    } else if (key == "neat_packing") {
      if (neat && packing == nullptr) out.push_back(As("packing", "true", setting));
    } else if (key == "quantization_bit" || key == "quantization_method") {
      TranslateFactoryQuantization(setting, &out);
    } else if (key == "flash_attn") {
      TranslateFactoryAttention(setting, &out);
    } else if (key == "disable_gradient_checkpointing") {
      out.push_back(As("gradient_checkpointing", IsTrue(setting) ? "false" : "true", setting));
    } else if (key == "freeze_vision_tower") {
      out.push_back(As("tune_mm_vision", IsTrue(setting) ? "false" : "true", setting));
    } else if (const char* ours =
                   OursOf(std::begin(kFactoryRenamed), std::end(kFactoryRenamed), key)) {
      out.push_back(As(ours, setting));
    } else {
      out.push_back(setting);
    }
  }
  return out;
}

constexpr NotPredicted kFactoryNotPredicted[] = {
    {"pure_bf16", "weights and states in 16 bits without a copy in fp32", true},
    {"use_galore", kOtherOptimizer, true},
    {"use_apollo", kOtherOptimizer, true},
    {"use_badam", kOtherOptimizer, true},
    {"use_adam_mini", kOtherOptimizer, true},
    {"use_muon", kOtherOptimizer, true},
    {"use_llama_pro", kTuned, true},
    {"mixture_of_depths", "layers that skip tokens", true},
    {"use_unsloth_gc", "activations in host memory", true},
    {"use_unsloth", kOtherKernels},
    {"use_v1_kernels", kOtherKernels},
    {"use_kt", "experts in host memory", true},
    {"sequence_parallel_size", kSplit, true, false, "1"},
    {"cp_size", kSplit, true, false, "1"},
    {"shift_attn", kNotCut},
    {"upcast_layernorm", "norms are taken to have 16 bits"},
    {"upcast_lmhead_output", "logits are taken to have 16 bits"},
    {"resize_vocab", "the vocabulary is taken to be the model's own"},
    {"fp8", "products are taken to have 16 bits: --precision fp8"},
};
constexpr const char* kFactoryIrrelevant[] = {"dataset",
                                              "dataset_dir",
                                              "eval_dataset",
                                              "media_dir",
                                              "template",
                                              "max_samples",
                                              "val_size",
                                              "streaming",
                                              "buffer_size",
                                              "mix_strategy",
                                              "interleave_probs",
                                              "preprocessing_batch_size",
                                              "tokenized_path",
                                              "tool_format",
                                              "train_on_prompt",
                                              "mask_history",
                                              "enable_thinking",
                                              "ignore_pad_token_for_loss",
                                              "default_system",
                                              "plot_loss",
                                              "compute_accuracy",
                                              "disable_shuffling",
                                              "image_m*",
                                              "video_*",
                                              "audio_*",
                                              "image_do_*",
                                              "crop_to_patches",
                                              "use_audio_in_video",
                                              "loraplus_*",
                                              "pissa_*",
                                              "create_new_adapter",
                                              "adapter_name_or_path",
                                              "rope_scaling",
                                              "use_reentrant_gc",
                                              "freeze_trainable_*",
                                              "freeze_extra_modules",
                                              "galore_*",
                                              "apollo_*",
                                              "badam_*",
                                              "pref_*",
                                              "ray_*",
                                              "swanlab_*",
                                              "use_swanlab",
                                              "export_*",
                                              "infer_*",
                                              "fp8_*",
                                              "add_tokens",
                                              "add_special_tokens",
                                              "split_special_tokens",
                                              "moe_aux_loss_coef",
                                              "print_param_status",
                                              "early_stopping_steps",
                                              "freeze_*",
                                              "resource_*",
                                              "num_workers",
                                              "placement_strategy",
                                              "low_cpu_mem_usage",
                                              "quantization_device_map"};

constexpr RenamedKey kAxolotlRenamed[] = {
    {"base_model", "model_name_or_path"},
    {"micro_batch_size", "per_device_train_batch_size"},
    {"num_epochs", "num_train_epochs"},
    {"sequence_len", "max_length"},
    {"sample_packing", "packing"},
    {"optimizer", "optim"},
    {"peft_use_dora", "use_dora"},
    {"liger_fused_linear_cross_entropy", "use_liger_kernel"},
    {"cut_cross_entropy", "use_liger_kernel"},
    {"fsdp_version", "fsdp_config.version"},
    {"fsdp_config.offload_params", "fsdp_config.cpu_offload"},
    {"fsdp_config.fsdp_offload_params", "fsdp_config.cpu_offload"},
    {"fsdp_config.fsdp_version", "fsdp_config.version"}};

constexpr RenamedKey kAxolotlAttention[] = {{"flash_attention", "flash_attention_2"},
                                            {"sdp_attention", "sdpa"},
                                            {"sdpa_attention", "sdpa"},
                                            {"xformers_attention", "sdpa"},
                                            {"eager_attention", "eager"}};

// `attention: flash` and the like name one of them.
constexpr RenamedKey kAxolotlBackends[] = {
    {"flash", "flash_attention_2"}, {"sdpa", "sdpa"}, {"xformers", "sdpa"}, {"eager", "eager"}};

// FSDP's strategy is a word of `fsdp` or a key of `fsdp_config`. Version 2 needs neither.
void TranslateAxolotlStrategy(const std::vector<Setting>& settings, Translation* out) {
  if (Has(settings, "fsdp")) return;
  const Setting* shards = nullptr;
  for (const Setting& setting : settings) {
    if (absl::EndsWith(setting.key, "sharding_strategy")) {
      out->push_back(As("fsdp", Word(setting), setting));
      return;
    }
    if (absl::StartsWith(setting.key, "fsdp_config.") || setting.key == "fsdp_version")
      shards = &setting;
  }
  if (shards != nullptr) out->push_back(As("fsdp", "full_shard", *shards));
}

// Returns whether the key is about precision, checkpoints of layers or adapters, and translates it.
bool TranslateAxolotlMethod(const Setting& setting, Translation* out) {
  const std::string& key = setting.key;
  const std::string word = Word(setting);
  if (key == "adapter") {
    if (word != "lora" && word != "qlora")
      Fail(setting, "not yet: this adapter; accepted: lora, qlora");
    out->push_back(As("use_peft", "true", setting));
  } else if (key == "lora_target_linear") {
    if (word == "true") out->push_back(As("lora_target_modules", "all-linear", setting));
  } else if (key == "bf16") {
    if (word == "full")
      Fail(setting, "not yet: weights and states in 16 bits without a copy in fp32");
    out->push_back(As("bf16", word == "auto" ? "true" : word, setting));
  } else if (key == "gradient_checkpointing") {
    if (word != "true" && word != "false")
      Fail(setting, "not yet: activations in host memory; accepted: true, false");
    out->push_back(As("gradient_checkpointing", setting));
  } else {
    return false;
  }
  return true;
}

std::vector<Setting> TranslateAxolotl(const std::vector<Setting>& settings, UserConfig* config) {
  Translation out;
  const Setting* packs = Find(settings, "sample_packing");
  const bool packed = packs != nullptr && IsTrue(*packs);
  TranslateAxolotlStrategy(settings, &out);
  const bool adapter = Has(settings, "adapter");
  for (const Setting& setting : settings) {
    const std::string key = setting.key;
    if (TranslateAxolotlMethod(setting, &out)) continue;
    if (!adapter && absl::StartsWith(key, "lora_")) {  // without effect
      ++config->irrelevant;
      continue;
    }
    const char* attention = OursOf(std::begin(kAxolotlAttention), std::end(kAxolotlAttention), key);
    if (attention != nullptr) {
      if (IsTrue(setting)) out.push_back(As("attn_implementation", attention, setting));
    } else if (key == "attention") {
      const char* name =
          OursOf(std::begin(kAxolotlBackends), std::end(kAxolotlBackends), Word(setting));
      if (name == nullptr) Fail(setting, "not yet: accepted: flash, sdpa, xformers, eager");
      out.push_back(As("attn_implementation", name, setting));
    } else if (absl::StartsWith(key, "fsdp_config.") && absl::EndsWith(key, "sharding_strategy")) {
      const Setting* words = Find(settings, "fsdp");
      if (words != nullptr &&
          std::count(words->values.begin(), words->values.end(), Word(setting)) == 0)
        Fail(setting, "differs from " + Describe(*words));
    } else if (key == "pad_to_sequence_len") {
      const Setting* length = Find(settings, "sequence_len");
      if (IsTrue(setting) && !packed)
        out.push_back(As("pad_to_multiple_of", length == nullptr ? "512" : Word(*length), setting));
    } else if (const char* ours =
                   OursOf(std::begin(kAxolotlRenamed), std::end(kAxolotlRenamed), key)) {
      out.push_back(As(ours, setting));
    } else {
      out.push_back(setting);
    }
  }
  if (Has(settings, "cut_cross_entropy"))
    config->notes.emplace_back(
        "cut_cross_entropy: predicted as Liger's loss, which holds a part "
        "of the logits; it holds none.");
  return out;
}

constexpr NotPredicted kAxolotlNotPredicted[] = {
    {"rl", kOtherObjective, true},
    {"reward_model", kOtherObjective, true},
    {"process_reward_model", kOtherObjective, true},
    {"bfloat16", "weights and states in 16 bits without a copy in fp32", true},
    {"float16", "weights and states in 16 bits without a copy in fp32", true},
    {"fp8", "products are taken to have 16 bits: --precision fp8"},
    {"unfrozen_parameters", kTuned, true},
    {"relora", kTuned, true},
    {"lisa_*", kTuned, true},
    {"gptq", "weights that are quantised so; accepted: load_in_4bit", true},
    {"peft.*", "weights that are quantised so; accepted: load_in_4bit", true},
    {"peft_layers_to_transform", "adapters in some layers alone", true, true},
    {"peft_layer_replication", "layers that are copied", true},
    {"peft_trainable_token_indices*", "single tokens that train", true},
    {"tensor_parallel_size", kSplit, true, false, "1"},
    {"context_parallel_size", kSplit, true, false, "1"},
    {"sequence_parallel_degree", kSplit, true, false, "1"},
    {"expert_parallel_size", kSplit, true, false, "1"},
    {"dp_replicate_size", "groups of ranks with a copy of the states each", true, false, "1"},
    {"batch_size", "the batch is taken from micro_batch_size and gradient_accumulation_steps"},
    {"lora_mlp_kernel", kAdaptersKernels},
    {"lora_qkv_kernel", kAdaptersKernels},
    {"lora_o_kernel", kAdaptersKernels},
    {"flex_attention", kNotCut},
    {"s2_attention", kNotCut},
    {"sage_attention", kNotCut},
    {"flash_attn_*", kOtherKernels},
    {"unsloth_*", kOtherKernels},
    {"liger_*", "kernels other than the loss are taken to be PyTorch's"},
    {"use_pose", "samples are taken to have the lengths of the data"},
    {"curriculum_sampling", "samples are taken to come in random order"},
};
constexpr const char* kAxolotlIrrelevant[] = {"base_model_*",
                                              "processor_*",
                                              "image_*",
                                              "flex_attn_*",
                                              "model_type",
                                              "tokenizer_*",
                                              "type_of_model",
                                              "is_*",
                                              "datasets*",
                                              "test_datasets*",
                                              "pretraining_dataset*",
                                              "dataset_*",
                                              "shuffle_merged_datasets",
                                              "skip_prepare_dataset",
                                              "val_set_size",
                                              "evals_per_epoch",
                                              "saves_per_epoch",
                                              "special_tokens*",
                                              "tokens",
                                              "added_tokens_overrides*",
                                              "wandb_*",
                                              "mlflow_*",
                                              "comet_*",
                                              "use_tensorboard",
                                              "use_wandb",
                                              "use_mlflow",
                                              "use_comet",
                                              "use_ray",
                                              "use_otel_metrics",
                                              "plugins",
                                              "train_on_inputs",
                                              "strict",
                                              "chat_template*",
                                              "default_system_message",
                                              "cosine_*",
                                              "early_stopping_patience",
                                              "loss_watchdog_*",
                                              "lora_model_dir",
                                              "lora_fan_in_fan_out",
                                              "lora_on_cpu",
                                              "loraplus_*",
                                              "peft_use_rslora",
                                              "peft_init_lora_weights",
                                              "auto_resume_from_checkpoints",
                                              "sample_packing_*",
                                              "eval_sample_packing",
                                              "min_sample_len",
                                              "multipack_real_batches",
                                              "dp_shard_size",
                                              "gc_steps",
                                              "profiler_steps",
                                              "bench_*",
                                              "ddp",
                                              "device_map",
                                              "revision_of_model",
                                              "overrides_of_model_*",
                                              "hf_use_auth_token",
                                              "fsdp_final_*",
                                              "fsdp_config.final_state_dict_type",
                                              "lr_*",
                                              "qlora_sharded_model_loading",
                                              "low_cpu_mem_usage",
                                              "resize_token_embeddings_to_32x",
                                              "mean_resizing_embeddings",
                                              "embeddings_skip_upcast",
                                              "eot_tokens",
                                              "axolotl_config_path",
                                              "local_rank",
                                              "world_size",
                                              "gradio_*",
                                              "kd_*"};

KeyTables TablesOf(std::vector<NotPredicted> not_predicted, std::vector<const char*> irrelevant) {
  return {
      .read = {}, .not_predicted = std::move(not_predicted), .irrelevant = std::move(irrelevant)};
}

const FrontEnd& Factory() {
  static const auto* const kFrontEnd = new FrontEnd{
      .title = "LLaMA-Factory",
      .translate = TranslateFactory,
      .defaults = {{"use_peft", "true"},
                   {"gradient_checkpointing", "true"},
                   {"max_length", "2048"},
                   {"lora_r", "8"},
                   {"lora_target_modules", "all-linear"},
                   {"use_bnb_nested_quant", "true"},
                   {"bf16", "false"}},
      .keys = TablesOf({std::begin(kFactoryNotPredicted), std::end(kFactoryNotPredicted)},
                       {std::begin(kFactoryIrrelevant), std::end(kFactoryIrrelevant)}),
      .words = {{"gradient_checkpointing: false", "disable_gradient_checkpointing: true"},
                {"gradient_checkpointing: true", "disable_gradient_checkpointing: false"}},
      .freezes_encoders = true};
  return *kFrontEnd;
}

const FrontEnd& Axolotl() {
  static const auto* const kFrontEnd = new FrontEnd{
      .title = "axolotl",
      .translate = TranslateAxolotl,
      .defaults = {{"gradient_checkpointing", "false"},
                   {"max_length", "512"},
                   {"bf16", "true"},
                   {"num_train_epochs", "1"},
                   {"use_bnb_nested_quant", "true"},
                   {"per_device_train_batch_size", "1"}},
      .keys = TablesOf({std::begin(kAxolotlNotPredicted), std::end(kAxolotlNotPredicted)},
                       {std::begin(kAxolotlIrrelevant), std::end(kAxolotlIrrelevant)}),
      .words = {{"per_device_train_batch_size", "micro_batch_size"}},
      .freezes_encoders = false};
  return *kFrontEnd;
}

}  // namespace

const FrontEnd* FrontEndOf(const std::vector<Setting>& settings) {
  if (Has(settings, "finetuning_type") ||
      (Has(settings, "model_name_or_path") && Has(settings, "cutoff_len")))
    return &Factory();
  const bool trains = Has(settings, "micro_batch_size") || Has(settings, "sequence_len") ||
                      Has(settings, "num_epochs") || Has(settings, "adapter");
  return Has(settings, "base_model") && trains ? &Axolotl() : nullptr;
}

}  // namespace evenkeel::cli
