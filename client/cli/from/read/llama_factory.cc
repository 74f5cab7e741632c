// Sources: src/llamafactory/hparams, model/model_utils/checkpointing.py of LLaMA-Factory (0.9).
#include <absl/strings/match.h>
#include <algorithm>
#include <iterator>

#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/translation.h"

namespace evenkeel::cli {
namespace {

constexpr char kFactoryOtherOptimizer[] = "this optimizer";

constexpr char kFactoryImages[] = "images, video and sound are taken to have the units of the data";

constexpr RenamedKey kFactoryRenamed[] = {{"lora_rank", "lora_r"},
                                          {"cutoff_len", "max_length"},
                                          {"enable_liger_kernel", "use_liger_kernel"},
                                          {"use_cce", "cut_cross_entropy"},
                                          {"double_quantization", "use_bnb_nested_quant"},
                                          {"quantization_type", "bnb_4bit_quant_type"},
                                          {"use_unsloth_gc", "activation_offloading"},
                                          {"freeze_language_model", "freeze_llm"},
                                          {"freeze_multi_modal_projector", "freeze_mlp"}};

void TranslateFactoryMethod(const Setting& setting, std::vector<Setting>* out) {
  const std::string word = Word(setting);
  if (setting.key == "stage") {
    if (word != "sft" && word != "pt")
      FailTranslation(setting, std::string("not yet: ") + kOtherLoss);
  } else if (word == "lora" || word == "full") {
    out->push_back(As("use_peft", word == "lora" ? "true" : "false", setting));
  } else {
    FailTranslation(setting, std::string("not yet: ") + kSomeWeights + "; accepted: lora, full");
  }
}

void TranslateFactoryQuantization(const Setting& setting, std::vector<Setting>* out) {
  if (setting.key == "quantization_bit") {
    out->push_back(AsFewBits(setting));
  } else if (Word(setting) != "bnb" && Word(setting) != "bitsandbytes") {
    FailTranslation(setting, "not yet: weights that are quantised so; accepted: bnb");
  }
}

void TranslateFactoryAttention(const Setting& setting, std::vector<Setting>* out) {
  constexpr RenamedKey kNames[] = {
      {"disabled", "eager"}, {"sdpa", "sdpa"}, {"fa2", "flash_attention_2"}};
  const std::string word = Word(setting);
  if (word == "auto") return;
  const char* name = OursOf(kNames, word);
  if (name == nullptr) FailTranslation(setting, "must be auto, disabled, sdpa or fa2");
  out->push_back(As("attn_implementation", name, setting));
}

// LLaMA-Factory places adapters in the components that it does not freeze (model/adapter.py,
// 0.9.5). Returns whether the key is about that, and translates it.
bool TranslateFactoryAdapted(const std::vector<Setting>& settings, const Setting& setting,
                             std::vector<Setting>* out, UserConfig* config) {
  const Setting* targets = FindSetting(settings, "lora_target");
  const bool all = targets == nullptr || Word(*targets) == "all";
  if (setting.key == "freeze_multi_modal_projector") {
    config->not_predicted.emplace_back(setting, kProjectorTrains);
  } else if (setting.key == "freeze_language_model") {
    out->push_back(As(kFreezesAdaptedLlmKey, setting));
  } else if (setting.key != "freeze_vision_tower") {
    return false;
  } else if (all || IsTrue(setting)) {
    out->push_back(As(kAdaptsEncoderKey, IsTrue(setting) ? "false" : "true", setting));
  } else {
    config->not_predicted.emplace_back(
        setting,
        "adapters of encoders on the modules of lora_target are left out; --lora says more");
  }
  return true;
}

std::vector<Setting> TranslateFactory(const std::vector<Setting>& settings, UserConfig* config) {
  std::vector<Setting> out;
  const bool neat = IsOn(settings, "neat_packing");
  const Setting* packing = FindSetting(settings, "packing");
  if (IsOn(settings, "packing") && !neat)
    config->notes.push_back(Describe(*packing) +
                            ": without neat_packing, samples of a pack attend to each other, "
                            "which takes longer than predicted.");
  // Pretraining joins all text, unless told not to.
  const Setting* stage = FindSetting(settings, "stage");
  if (stage != nullptr && Word(*stage) == "pt") {
    out.push_back(As("packing_strategy", "wrapped", *stage));
    if (packing == nullptr) out.push_back(As("packing", "true", *stage));
  }
  const Setting* method = FindSetting(settings, "finetuning_type");
  const bool adapters = method == nullptr || Word(*method) != "full";
  for (const Setting& setting : settings) {
    const std::string key = setting.key;
    if (adapters && TranslateFactoryAdapted(settings, setting, &out, config)) continue;
    if (adapters && absl::StartsWith(key, "freeze_")) {  // of the method "freeze"
      ++config->irrelevant;
    } else if (key == "finetuning_type" || key == "stage") {
      TranslateFactoryMethod(setting, &out);
    } else if (key == "lora_target") {
      out.push_back(Word(setting) == "all" ? As("lora_target_modules", "all-linear", setting)
                                           : AsList("lora_target_modules", setting));
    } else if (key == "additional_target") {
      out.push_back(AsList("lora_modules_to_save", setting));
    } else if (key == "neat_packing" || (key == "packing" && neat)) {
      if (key == "neat_packing" && neat) out.push_back(As("packing", "true", setting));
    } else if (key == "quantization_bit" || key == "quantization_method") {
      TranslateFactoryQuantization(setting, &out);
    } else if (key == "flash_attn") {
      TranslateFactoryAttention(setting, &out);
    } else if (key == "use_reentrant_gc") {
      out.push_back(As("gradient_checkpointing_kwargs.use_reentrant", setting));
    } else if (key == "disable_gradient_checkpointing") {
      out.push_back(As("gradient_checkpointing", IsTrue(setting) ? "false" : "true", setting));
    } else if (key == "pure_bf16") {
      config->sixteen_bit_weights = IsTrue(setting);
      if (IsTrue(setting)) out.push_back(As("bf16", "true", setting));
    } else if (key == "use_muon") {
      if (IsTrue(setting)) out.push_back(As("optim", "muon", setting));
    } else if (key == "freeze_vision_tower") {
      out.push_back(As("tune_mm_vision", IsTrue(setting) ? "false" : "true", setting));
    } else if (const char* ours = OursOf(kFactoryRenamed, key)) {
      out.push_back(As(ours, setting));
    } else {
      out.push_back(setting);
    }
  }
  return out;
}

constexpr NotPredicted kFactoryNotPredicted[] = {
    {"use_galore", kFactoryOtherOptimizer, true},
    {"use_apollo", kFactoryOtherOptimizer, true},
    {"use_badam", kFactoryOtherOptimizer, true},
    {"use_adam_mini", kFactoryOtherOptimizer, true},
    {"use_asft_loss", kOtherLoss, true},  // which holds a second model (train/sft/workflow.py)
    {"use_llama_pro", kSomeWeights, true},
    {"mixture_of_depths", "layers that skip tokens", true},
    {"use_unsloth", kOtherKernels},
    {"use_v1_kernels", kOtherKernels},
    {"use_kt", "experts in host memory", true},
    {"sequence_parallel_size", kSplitWork, true, false, "1"},
    {"tensor_model_parallel_size", kSplitWork, true, false, "1"},  // of its Megatron adapter
    {"pipeline_model_parallel_size", kSplitWork, true, false, "1"},
    {"context_parallel_size", kSplitWork, true, false, "1"},
    {"expert_model_parallel_size", kSplitWork, true, false, "1"},
    {"cp_size", kSplitWork, true, false, "1"},
    {"shift_attn", kOwnAttention},
    {"upcast_layernorm", "norms are taken to have 16 bits"},
    {"upcast_lmhead_output", "logits are taken to have 16 bits"},
    {"resize_vocab", "the vocabulary is taken to be the model's own"},
    {"fp8", "products are taken to have 16 bits: --precision fp8"},
    {"fp8_*", "products are taken to have 16 bits: --precision fp8"},
    {"train_mm_proj_only", "training of the projector alone; --freeze llm evaluates it", true},
    {"new_special_tokens_config", "the vocabulary is taken to be the model's own"},
    {"max_samples", "the number of samples is taken to be that of the data"},
    {"image_max_pixels", kFactoryImages},
    {"image_min_pixels", kFactoryImages},
    {"image_resolution", kFactoryImages},
    {"video_*", kFactoryImages},
    {"audio_*", kFactoryImages},
};
constexpr const char* kFactoryIrrelevant[] = {
    // Data.
    "dataset", "dataset_dir", "eval_dataset", "media_dir", "template", "val_size", "streaming",
    "buffer_size", "mix_strategy", "interleave_probs", "preprocessing_batch_size", "tokenized_path",
    "tool_format", "train_on_prompt", "mask_history", "enable_thinking",
    "ignore_pad_token_for_loss", "default_system", "disable_shuffling", "image_do_*",
    "crop_to_patches", "use_audio_in_video",
    // Adapters and optimizers that have settings above.
    "loraplus_*", "pissa_*", "create_new_adapter", "adapter_name_or_path", "freeze_*",
    "freeze_trainable_*", "freeze_extra_modules", "galore_*", "apollo_*", "badam_*", "pref_*",
    "ppo_*", "kto_*", "simpo_*", "dpo_*", "reward_model_type", "oft_*", "module_dropout",
    "num_layer_trainable", "name_module_trainable", "moe_aux_loss_coef",
    // What is loaded, logged and exported.
    "rope_scaling", "add_tokens", "add_special_tokens", "split_special_tokens", "low_cpu_mem_usage",
    "quantization_device_map", "plot_loss", "compute_accuracy", "early_stopping_steps",
    "print_param_status", "use_swanlab", "init_special_tokens", "predict_with_generate",
    "generation_*", "temperature", "top_p", "top_k", "max_new_tokens", "use_kv_cache",
    "offload_folder", "adapter_folder", "hf_hub_token", "ms_hub_token", "om_hub_token",
    "visual_inputs", "train_from_scratch", "swanlab_*", "export_*", "infer_*", "ray_*",
    "resources_*", "num_workers", "placement_strategy"};

}  // namespace

const FrontEnd& LlamaFactory() {
  static const auto* const kFrontEnd = new FrontEnd{
      .title = "LLaMA-Factory",
      .translate = TranslateFactory,
      .defaults = {{"use_peft", "true", "finetuning_type lora"},
                   {"gradient_checkpointing", "true", "gradient checkpointing"},
                   {"gradient_checkpointing_kwargs.use_reentrant", "true", nullptr},
                   {"max_length", "2048", "cutoff_len 2048"},
                   {"lora_r", "8", "lora_rank 8"},
                   {"lora_dropout", "0.0", nullptr},
                   {"lora_target_modules", "all-linear", "lora_target all"},
                   {"use_bnb_nested_quant", "true", "double_quantization true"},
                   {"bf16", "false", nullptr}},
      .keys = {.read = {},
               .not_predicted = {std::begin(kFactoryNotPredicted), std::end(kFactoryNotPredicted)},
               .irrelevant = {std::begin(kFactoryIrrelevant), std::end(kFactoryIrrelevant)}},
      .words = {{"gradient_checkpointing: false", "disable_gradient_checkpointing: true"},
                {"gradient_checkpointing: true", "disable_gradient_checkpointing: false"},
                {"\"gradient_checkpointing_kwargs\": {\"use_reentrant\": false}",
                 "use_reentrant_gc: false"}},
      .freezes_encoders = true};
  return *kFrontEnd;
}

}  // namespace evenkeel::cli
