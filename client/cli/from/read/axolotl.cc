// Sources: src/axolotl/utils/schemas, loaders/model.py and loaders/adapter.py of axolotl (0.8 to
// 0.12).
#include <absl/strings/match.h>
#include <algorithm>
#include <iterator>

#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/translation.h"

namespace evenkeel::cli {
namespace {

constexpr char kAxolotlAdaptersKernels[] = "adapters are taken to have PEFT's kernels";

constexpr RenamedKey kAxolotlRenamed[] = {
    {"base_model", "model_name_or_path"},
    {"micro_batch_size", "per_device_train_batch_size"},
    {"num_epochs", "num_train_epochs"},
    {"sequence_len", "max_length"},
    {"sample_packing", "packing"},
    {"optimizer", "optim"},
    {"peft_use_dora", "use_dora"},
    {"liger_fused_linear_cross_entropy", "use_liger_kernel"},
    {"liger_glu_activation", "liger_kernel_config.swiglu"},
    {"liger_rope", "liger_kernel_config.rope"},
    {"liger_rms_norm", "liger_kernel_config.rms_norm"},
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
void TranslateAxolotlStrategy(const std::vector<Setting>& settings, std::vector<Setting>* out) {
  if (FindSetting(settings, "fsdp") != nullptr) return;
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
bool TranslateAxolotlMethod(const Setting& setting, std::vector<Setting>* out) {
  const std::string& key = setting.key;
  const std::string word = Word(setting);
  if (key == "adapter") {
    if (word != "lora" && word != "qlora")
      FailTranslation(setting, "not yet: this adapter; accepted: lora, qlora");
    out->push_back(As("use_peft", "true", setting));
  } else if (key == "lora_target_linear") {
    if (word == "true") out->push_back(As("lora_target_modules", "all-linear", setting));
  } else if (key == "bf16") {
    out->push_back(As("bf16", word == "auto" || word == "full" ? "true" : word, setting));
  } else if (key == "bfloat16") {
    if (IsTrue(setting)) out->push_back(As("bf16", "true", setting));
  } else if (key == "gradient_checkpointing") {
    if (word != "true" && word != "false" && word != "offload")
      FailTranslation(setting, "not yet: accepted are true, false, offload");
    out->push_back(As("gradient_checkpointing", word == "false" ? "false" : "true", setting));
    if (word == "offload") out->push_back(As("activation_offloading", "true", setting));
  } else {
    return false;
  }
  return true;
}

// Returns the setting that turns Apple's cut cross entropy on, which its plugin does unless told
// not to.
const Setting* CutsCrossEntropy(const std::vector<Setting>& settings) {
  const Setting* said = FindSetting(settings, "cut_cross_entropy");
  if (said != nullptr) return IsTrue(*said) ? said : nullptr;
  const Setting* plugins = FindSetting(settings, "plugins");
  const auto is_plugin = [](const std::string& plugin) {
    return absl::EndsWith(plugin, "CutCrossEntropyPlugin");
  };
  return plugins != nullptr &&
                 std::any_of(plugins->values.begin(), plugins->values.end(), is_plugin)
             ? plugins
             : nullptr;
}

// Refuses adapters that axolotl refuses, and finds out whether weights have a copy in fp32: without
// FSDP and DeepSpeed they have none.
void CheckAxolotl(const std::vector<Setting>& settings, UserConfig* config) {
  config->text_only = FindSetting(settings, "processor_type") == nullptr;
  const Setting* bf16 = FindSetting(settings, "bf16");
  if (IsOn(settings, "bfloat16") || (bf16 != nullptr && Word(*bf16) == "full"))
    config->sixteen_bit_weights = true;
  if (const Setting* adapter = FindSetting(settings, "adapter")) {
    if (Word(*adapter) == "qlora" && !IsOn(settings, "load_in_4bit"))
      FailTranslation(*adapter, "needs load_in_4bit true");
    const bool lora = absl::EndsWith(Word(*adapter), "lora");
    if (lora && !FindSetting(settings, "lora_r")) FailTranslation(*adapter, "needs lora_r");
  } else if (std::none_of(settings.begin(), settings.end(), [](const Setting& setting) {
               return absl::StartsWith(setting.key, "deepspeed") ||
                      absl::StartsWith(setting.key, "fsdp");
             })) {
    config->sixteen_bit_weights = true;
  }
}

// Next to adapters, the offload of release 0.19 takes the place of recompute
// (_configure_gradient_checkpointing() of core/builders/base.py, _apply_activation_checkpointing()
// of loaders/model.py).
void NoteOffloadNextToAdapters(const std::vector<Setting>& settings, UserConfig* config) {
  if (FindSetting(settings, "adapter") == nullptr) return;
  for (const Setting& setting : settings)
    if ((setting.key == "activation_offloading" && Word(setting) != "false") ||
        (setting.key == "gradient_checkpointing" && Word(setting) == "offload"))
      config->not_predicted.emplace_back(
          setting,
          "next to adapters, releases such as 0.19 move all that layers keep to host memory and "
          "recompute nothing; predicted is what 0.12 does: layers recompute, with their inputs in "
          "host memory");
}

// With FSDP, axolotl takes a dp_shard_size of 1 as unset (_get_parallel_config_kwargs() of
// utils/distributed.py, 0.19).
bool IsUnsetShards(const std::vector<Setting>& settings, const Setting& setting) {
  return setting.key == "dp_shard_size" && Word(setting) == "1" &&
         std::any_of(settings.begin(), settings.end(), [](const Setting& other) {
           return other.key == "fsdp" || absl::StartsWith(other.key, "fsdp_config.");
         });
}

std::vector<Setting> TranslateAxolotl(const std::vector<Setting>& settings, UserConfig* config) {
  std::vector<Setting> out;
  TranslateAxolotlStrategy(settings, &out);
  CheckAxolotl(settings, config);
  NoteOffloadNextToAdapters(settings, config);
  const Setting* cuts = CutsCrossEntropy(settings);
  if (cuts != nullptr)
    config->notes.emplace_back(
        "cut cross entropy: predicted as Liger's loss, which holds a part of the logits; it holds "
        "none.");
  const Setting* excess = FindSetting(settings, "excess_length_strategy");
  config->drops_samples = excess == nullptr || Word(*excess) == "drop";
  const bool packed = IsOn(settings, "sample_packing");
  const bool all_linear = IsOn(settings, "lora_target_linear");
  const bool adapter = FindSetting(settings, "adapter") != nullptr;
  for (const Setting& setting : settings) {
    const std::string key = setting.key;
    if (&setting == cuts) {
      out.push_back(As("use_liger_kernel", "true", setting));
      continue;
    }
    if (TranslateAxolotlMethod(setting, &out)) continue;
    if ((!adapter && absl::StartsWith(key, "lora_")) ||
        (all_linear && key == "lora_target_modules") ||
        IsUnsetShards(settings, setting)) {  // without effect
      ++config->irrelevant;
      continue;
    }
    const char* attention = OursOf(kAxolotlAttention, key);
    if (attention != nullptr) {
      if (IsTrue(setting)) out.push_back(As("attn_implementation", attention, setting));
    } else if (key == "attention") {
      const char* name = OursOf(kAxolotlBackends, Word(setting));
      if (name == nullptr)
        FailTranslation(setting, "not yet: accepted: flash, sdpa, xformers, eager");
      out.push_back(As("attn_implementation", name, setting));
    } else if (absl::StartsWith(key, "fsdp_config.") && absl::EndsWith(key, "sharding_strategy")) {
      const Setting* words = FindSetting(settings, "fsdp");
      if (words != nullptr &&
          std::count(words->values.begin(), words->values.end(), Word(setting)) == 0)
        FailTranslation(setting, "differs from " + Describe(*words));
    } else if (key == "pad_to_sequence_len") {
      const Setting* length = FindSetting(settings, "sequence_len");
      if (IsTrue(setting) && !packed)
        out.push_back(As("pad_to_multiple_of", length == nullptr ? "512" : Word(*length), setting));
    } else if (const char* ours = OursOf(kAxolotlRenamed, key)) {
      out.push_back(As(ours, setting));
    } else {
      out.push_back(setting);
    }
  }
  return out;
}

// The other degrees must be 1, so this is the number of GPUs (ParallelismConfig of
// accelerate/parallelism_config.py, which must have as many ranks as there are processes).
constexpr KeyRecord kAxolotlRead[] = {
    {"dp_shard_size", Field::kShardRanks, "cluster.pools.gpu_count"}};

constexpr NotPredicted kAxolotlNotPredicted[] = {
    {"layer_offloading", "frozen layers in host memory", true},
    {"rl", kOtherLoss, true},
    {"reward_model", kOtherLoss, true},
    {"process_reward_model", kOtherLoss, true},
    {"float16", kNoFloatCopy, true},
    {"fp8", "products are taken to have 16 bits: --precision fp8"},
    {"unfrozen_parameters", kSomeWeights, true},
    {"relora", kSomeWeights, true},
    {"lisa_*", kSomeWeights, true},
    {"gptq", "weights that are quantised so; accepted: load_in_4bit, load_in_8bit", true},
    {"peft.*", "weights that are quantised so; accepted: load_in_4bit, load_in_8bit", true},
    {"peft_layers_to_transform", "adapters in some layers alone", true, true},
    {"peft_layer_replication", "layers that are copied", true},
    {"peft_trainable_token_indices*", "single tokens that train", true},
    {"tensor_parallel_size", kSplitWork, true, false, "1"},
    {"context_parallel_size", kSplitWork, true, false, "1"},
    {"sequence_parallel_degree", kSplitWork, true, false, "1"},
    {"expert_parallel_size", kSplitWork, true, false, "1"},
    {"dp_replicate_size", "groups of ranks with a copy of the states each", true, false, "1"},
    {"batch_size", "the batch is taken from micro_batch_size and gradient_accumulation_steps"},
    {"lora_mlp_kernel", kAxolotlAdaptersKernels},
    {"lora_qkv_kernel", kAxolotlAdaptersKernels},
    {"lora_o_kernel", kAxolotlAdaptersKernels},
    {"flex_attention", kOwnAttention},
    {"s2_attention", kOwnAttention},
    {"sage_attention", kOwnAttention},
    {"flash_attn_*", kOtherKernels},
    {"unsloth_*", kOtherKernels},
    {"liger_*", "kernels that are not named here are taken to be PyTorch's"},
    {"qat.*", "training is taken to be without quantisation"},
    {"tiled_mlp", kOtherKernels},
    {"quantize_moe_experts", "experts are taken to be quantised as linear layers are"},
    {"image_size", "images are taken to have the units of the data"},
    {"use_pose", "samples are taken to have the lengths of the data"},
    {"curriculum_sampling", "samples are taken to come in random order"},
};
constexpr const char* kAxolotlIrrelevant[] = {
    // Data.
    "datasets*", "test_datasets*", "pretraining_dataset*", "dataset_*", "shuffle_merged_datasets",
    "skip_prepare_dataset", "val_set_size", "train_on_inputs", "chat_template*",
    "default_system_message", "special_tokens*", "tokens", "added_tokens_overrides*", "eot_tokens",
    "tokenizer_*", "processor_*", "image_resize_algorithm", "min_sample_len", "sample_packing_*",
    "eval_sample_packing", "multipack_real_batches",
    // Adapters.
    "lora_model_dir", "lora_fan_in_fan_out", "lora_on_cpu", "loraplus_*", "peft_use_rslora",
    "peft_init_lora_weights", "qlora_sharded_model_loading", "kd_*",
    // What is loaded, logged and saved.
    "auto_resume_from_checkpoints", "axolotl_config_path", "base_model_*", "bench_*", "comet_*",
    "cosine_*", "ddp", "device_map", "early_stopping_patience", "embeddings_skip_upcast",
    "evals_per_epoch", "flex_attn_*", "fsdp_config.final_state_dict_type", "fsdp_final_*",
    "gc_steps", "gradio_*", "hf_use_auth_token", "is_*", "local_rank", "loss_watchdog_*",
    "low_cpu_mem_usage", "lr_*", "mean_resizing_embeddings", "mlflow_*", "model_type",
    "overrides_of_model_*", "plugins", "cut_cross_entropy", "excess_length_strategy", "streaming",
    "embedding_lr", "torchdistx_path", "push_dataset_to_hub", "fix_untrained_tokens", "vllm.*",
    "trl.*", "profiler_steps", "resize_token_embeddings_to_32x", "revision_of_model",
    "saves_per_epoch", "strict", "type_of_model", "use_comet", "use_mlflow", "use_otel_metrics",
    "use_ray", "use_tensorboard", "use_wandb", "wandb_*", "world_size"};

}  // namespace

const FrontEnd& Axolotl() {
  static const auto* const kFrontEnd = new FrontEnd{
      .title = "axolotl",
      .translate = TranslateAxolotl,
      .defaults = {{"gradient_checkpointing", "false", nullptr},
                   // normalize_config() of axolotl/utils/config.
                   {"gradient_checkpointing_kwargs.use_reentrant", "true", nullptr},
                   {"max_length", "512", "sequence_len 512"},
                   {"bf16", "true", "bf16 auto"},
                   {"num_train_epochs", "1", "num_epochs 1"},
                   {"lora_dropout", "0.0", nullptr},
                   {"use_bnb_nested_quant", "true", nullptr},
                   {"per_device_train_batch_size", "1", "micro_batch_size 1"}},
      .keys = {.read = {std::begin(kAxolotlRead), std::end(kAxolotlRead)},
               .not_predicted = {std::begin(kAxolotlNotPredicted), std::end(kAxolotlNotPredicted)},
               .irrelevant = {std::begin(kAxolotlIrrelevant), std::end(kAxolotlIrrelevant)}},
      .words = {{"per_device_train_batch_size", "micro_batch_size"},
                {"\"fsdp\" without offload and in \"fsdp_config\" no \"cpu_offload\"",
                 "fsdp_config without offload_params and fsdp_offload_params"},
                {"\"offload\" in \"fsdp\", or from transformers 5 on in \"fsdp_config\", "
                 "\"cpu_offload\": true",
                 "in fsdp_config, offload_params: true"},
                {"in \"fsdp_config\", \"reshard_after_forward\": ",
                 "in fsdp_config, reshard_after_forward: "},
                {"in \"fsdp_config\", \"fsdp_sharding_strategy\": \"SHARD_GRAD_OP\"",
                 "in fsdp_config, fsdp_sharding_strategy: SHARD_GRAD_OP"},
                {"in \"fsdp_config\", \"fsdp_sharding_strategy\": \"FULL_SHARD\"",
                 "in fsdp_config, fsdp_sharding_strategy: FULL_SHARD"},
                {"\"shard_grad_op\" in \"fsdp\"", "fsdp: [shard_grad_op, auto_wrap]"},
                {"\"full_shard\" in \"fsdp\"", "fsdp: [full_shard, auto_wrap]"}},
      .freezes_encoders = false};
  return *kFrontEnd;
}

}  // namespace evenkeel::cli
