// Sources: docs/source_en/Instruction/Command-line-parameters.md and swift/llm/argument of ms-swift
// (3.11).
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>
#include <algorithm>
#include <iterator>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/translation.h"

namespace evenkeel::cli {
namespace {

constexpr char kSwiftOtherOptimizer[] = "this optimizer";
constexpr char kSwiftImages[] = "images, video and sound are taken to have the units of the data";

constexpr RenamedKey kSwiftRenamed[] = {{"model", "model_name_or_path"},
                                        {"model_id_or_path", "model_name_or_path"},
                                        {"lora_rank", "lora_r"},
                                        {"use_liger", "use_liger_kernel"},
                                        {"use_cce", "cut_cross_entropy"},
                                        {"bnb_4bit_use_double_quant", "use_bnb_nested_quant"},
                                        {"target_modules", "lora_target_modules"},
                                        {"target_regex", "lora_target_modules"},
                                        {"modules_to_save", "lora_modules_to_save"},
                                        {"attn_impl", "attn_implementation"},
                                        {"freeze_aligner", "freeze_mlp"}};

bool IsMethod(const std::string& key) {
  return std::count(std::begin(kSwiftMethods), std::end(kSwiftMethods), key) > 0;
}

bool TrainsInFull(const std::vector<Setting>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
    return IsMethod(setting.key) && Word(setting) == "full";
  });
}

void TranslateSwiftMethod(const Setting& setting, std::vector<Setting>* out) {
  const std::string word = Word(setting);
  if (word != "lora" && word != "full")
    FailTranslation(setting, std::string("not yet: ") + kSomeWeights + "; accepted: lora, full");
  out->push_back(As("use_peft", word == "lora" ? "true" : "false", setting));
}

// "zero2_offload" and the like name configurations that ms-swift has (swift/llm/ds_config).
void TranslateSwiftEngine(const Setting& setting, std::vector<Setting>* out) {
  const std::string word = Word(setting);
  absl::string_view name = word;
  const bool offload = absl::ConsumeSuffix(&name, "_offload");
  if (!absl::ConsumePrefix(&name, "zero") || name.size() != 1 || name[0] < '0' || name[0] > '3') {
    out->push_back(As("deepspeed", setting));
    return;
  }
  out->push_back(As("deepspeed.zero_optimization.stage", std::string(name), setting));
  if (!offload) return;
  out->push_back(As("deepspeed.zero_optimization.offload_optimizer.device", "cpu", setting));
  if (name == "3")
    out->push_back(As("deepspeed.zero_optimization.offload_param.device", "cpu", setting));
}

void TranslateSwiftQuantization(const std::vector<Setting>& settings, const Setting& setting,
                                std::vector<Setting>* out) {
  if (setting.key == "quant_method") {
    if (Word(setting) != "bnb") FailTranslation(setting, "not yet: accepted: bnb");
    return;
  }
  if (FindSetting(settings, "quant_method") == nullptr)
    FailTranslation(setting,
                    "needs quant_method, without which ms-swift does not quantise; "
                    "accepted: quant_method bnb");
  out->push_back(AsFewBits(setting));
}

// Without torch_dtype, weights have the type of config.json, which is bfloat16 for most models.
void TranslateSwiftType(const Setting& setting, std::vector<Setting>* out) {
  const std::string word = Word(setting);
  if (word == "float16" || word == "fp16") {
    out->push_back(As("fp16", "true", setting));
  } else if (word == "bfloat16" || word == "bf16") {
    out->push_back(As("bf16", "true", setting));
  } else {
    FailTranslation(setting, "not yet: accepted: bfloat16, float16");
  }
}

void NoteSwift(const std::vector<Setting>& settings, UserConfig* config) {
  // The Trainer gets a model whose weights have 16 bits. DeepSpeed and FSDP make a copy in fp32.
  config->sixteen_bit_weights =
      FindSetting(settings, "deepspeed") == nullptr && FindSetting(settings, "fsdp") == nullptr;
  config->keeps_lengths = FindSetting(settings, "max_length") == nullptr;
  const Setting* excess = FindSetting(settings, "truncation_strategy");
  config->drops_samples = excess == nullptr || Word(*excess) == "delete";
  if (FindSetting(settings, "gradient_accumulation_steps") == nullptr)
    config->notes.emplace_back(
        "gradient_accumulation_steps is taken to be 1; ms-swift takes as many as give a step at "
        "least 16 samples.");
}

// With adapters, ms-swift places those of all-linear in the components that it does not freeze
// (get_multimodal_target_regex() of swift/utils/transformers_utils.py, 4.6). Modules that are named
// get them wherever they are. Returns whether the key is about that, and translates it.
bool TranslateSwiftAdapted(const std::vector<Setting>& settings, const Setting& setting,
                           std::vector<Setting>* out, UserConfig* config) {
  const Setting* targets = FindSetting(settings, "target_modules");
  const bool all = FindSetting(settings, "target_regex") == nullptr &&
                   (targets == nullptr ||
                    std::count(targets->values.begin(), targets->values.end(), "all-linear") > 0);
  if (setting.key == "freeze_aligner") {
    config->not_predicted.emplace_back(setting, kProjectorTrains);
  } else if (!all || (setting.key != "freeze_vit" && setting.key != "freeze_llm")) {
    return false;
  } else if (setting.key == "freeze_vit") {
    out->push_back(As(kAdaptsEncoderKey, IsTrue(setting) ? "false" : "true", setting));
  } else {
    out->push_back(As(kFreezesAdaptedLlmKey, setting));
  }
  return true;
}

std::vector<Setting> TranslateSwift(const std::vector<Setting>& settings, UserConfig* config) {
  std::vector<Setting> out;
  NoteSwift(settings, config);
  const bool full = TrainsInFull(settings);
  for (const Setting& setting : settings) {
    const std::string& key = setting.key;
    if (key == kSwiftCommand) continue;
    if (IsMethod(key)) {
      TranslateSwiftMethod(setting, &out);
    } else if (!full && TranslateSwiftAdapted(settings, setting, &out, config)) {
      continue;
    } else if ((full && absl::StartsWith(key, "lora_")) ||
               (!full && absl::StartsWith(key, "freeze_"))) {  // without effect
      ++config->irrelevant;
    } else if (key == "deepspeed") {
      TranslateSwiftEngine(setting, &out);
    } else if (key == "quant_method" || key == "quant_bits") {
      TranslateSwiftQuantization(settings, setting, &out);
    } else if (key == "torch_dtype" || key == "dtype") {
      TranslateSwiftType(setting, &out);
    } else if (key == "attn_impl" && Word(setting) == "flash_attn") {
      out.push_back(As("attn_implementation", "flash_attention_2", setting));
    } else if (key == "freeze_vit") {
      out.push_back(As("tune_mm_vision", IsTrue(setting) ? "false" : "true", setting));
    } else if (const char* ours = OursOf(kSwiftRenamed, key)) {
      out.push_back(As(ours, setting));
    } else {
      out.push_back(setting);
    }
  }
  return out;
}

constexpr NotPredicted kSwiftNotPredicted[] = {
    {"use_galore", kSwiftOtherOptimizer, true},
    {"freeze_parameters*", kSomeWeights, true},
    {"trainable_parameters*", kSomeWeights, true},
    {"additional_trainable_parameters", kSomeWeights, true},
    {"lisa_activated_layers", kSomeWeights, true, false, "0"},
    {"task_type", "a head other than that of a language model", true, false, "causal_lm"},
    {"sequence_parallel_size", kSplitWork, true, false, "1"},
    {"deepspeed_autotp_size", kSplitWork, true, false, "1"},
    {"zero_hpz_partition_size", "shards inside nodes (ZeRO++)", true},
    {"tuner_backend", "kernels of adapters are taken to be PEFT's"},
    {"vit_gradient_checkpointing", "the encoder is taken to recompute as the rest does"},
    {"max_pixels", kSwiftImages},
    {"new_special_tokens", "the vocabulary is taken to be the model's own"},
};
constexpr const char* kSwiftIrrelevant[] = {
    // Data.
    "dataset", "val_dataset", "cached_dataset", "custom_dataset_info", "custom_register_path",
    "external_plugins", "columns", "split_dataset_ratio", "dataset_num_proc", "dataset_shuffle",
    "val_dataset_shuffle", "dataset_test_ratio", "load_from_cache_file", "streaming",
    "interleave_prob", "stopping_strategy", "shuffle_buffer_size", "download_mode", "strict",
    "train_dataloader_shuffle", "lazy_tokenize", "truncation_strategy", "system", "template",
    "template_type", "template_backend", "use_chat_template", "agent_template", "norm_bbox",
    "padding_side", "loss_scale", "response_prefix", "packing_num_proc", "packing_cache",
    // What is loaded, logged and saved.
    "model_type", "model_revision", "model_name", "model_author", "model_kwargs", "rope_scaling",
    "max_model_len", "device_map", "use_hf", "hub_*", "load_args", "load_data_args", "add_version",
    "check_model", "create_checkpoint_symlink", "resume_only_model", "max_epochs", "acc_strategy",
    "lora_bias", "lora_dtype", "lorap_lr_ratio", "use_rslora", "init_weights", "aligner_lr",
    "vit_lr", "router_aux_loss_coef", "swanlab_*", "logging_dir", "max_new_tokens", "temperature",
    "predict_with_generate", "self_cognition_sample"};

// "Specific Model Arguments" of Command-line-parameters.md.
constexpr const char* kSwiftVariables[] = {
    "MAX_PIXELS",          "MIN_PIXELS",           "IMAGE_MAX_TOKEN_NUM",
    "IMAGE_MIN_TOKEN_NUM", "IMAGE_FACTOR",         "SPATIAL_MERGE_SIZE",
    "VIDEO_MAX_PIXELS",    "VIDEO_MIN_PIXELS",     "VIDEO_TOTAL_PIXELS",
    "VIDEO_MAX_TOKEN_NUM", "VIDEO_MIN_TOKEN_NUM",  "FPS",
    "FPS_MAX_FRAMES",      "FPS_MIN_FRAMES",       "NFRAMES",
    "FRAME_FACTOR",        "USE_AUDIO_IN_VIDEO",   "MAX_NUM",
    "INPUT_SIZE",          "VIDEO_MAX_NUM",        "VIDEO_SEGMENTS",
    "MAX_SLICE_NUMS",      "VIDEO_MAX_SLICE_NUMS", "MAX_NUM_FRAMES",
    "ENABLE_AUDIO_OUTPUT"};

// Variables that say which processes ms-swift starts.
constexpr const char* kSwiftProcesses[] = {"NPROC_PER_NODE", "NNODES", "CUDA_VISIBLE_DEVICES"};

}  // namespace

bool IsSwiftVariable(const std::string& name) {
  const auto has = [&](const auto& names) {
    return std::count(std::begin(names), std::end(names), name) > 0;
  };
  return has(kSwiftProcesses) || has(kSwiftVariables);
}

// use_torchrun() of swift/cli/main.py, get_default_device_map() of swift/llm/utils.py.
void CountSwiftProcesses(const std::map<std::string, std::string>& variables,
                         const std::string& place, UserConfig* config) {
  const auto value = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  const std::string each = value("NPROC_PER_NODE"), nodes = value("NNODES");
  const std::vector<std::string> devices =
      absl::StrSplit(value("CUDA_VISIBLE_DEVICES"), ',', absl::SkipEmpty());
  size_t processes = 1;
  const bool known = each.empty() ? nodes.empty() : absl::SimpleAtoi(each, &processes);
  if (known && processes > 0 && devices.size() / processes > 1)
    throw CommandError(
        ExitCode::kBadInput,
        absl::StrCat(place, ": ms-swift spreads the model's layers over the ",
                     devices.size() / processes,
                     " GPUs of each process (device_map), which is not predicted yet: set "
                     "NPROC_PER_NODE to the number of GPUs"));
  if (each.empty() && nodes.empty())
    config->notes.emplace_back(
        "ms-swift starts one process for each GPU only if NPROC_PER_NODE says so: one process for "
        "each is predicted.");
  if (!each.empty())
    Sort(MegatronKeys(), "nproc-per-node", {"NPROC_PER_NODE", {each}, place}, config);
  if (!nodes.empty()) Sort(MegatronKeys(), "nnodes", {"NNODES", {nodes}, place}, config);
}

void NoteSwiftImages(const std::map<std::string, std::string>& variables, const std::string& place,
                     UserConfig* config) {
  for (const char* const name : kSwiftVariables)
    if (const auto found = variables.find(name); found != variables.end())
      config->not_predicted.emplace_back(Setting{name, {found->second}, place}, kSwiftImages);
}

const FrontEnd& MsSwift() {
  static const auto* const kFrontEnd = new FrontEnd{
      .title = "ms-swift",
      .translate = TranslateSwift,
      .defaults = {{"use_peft", "true", "train_type lora"},
                   {"gradient_checkpointing", "true", "gradient checkpointing"},
                   {"per_device_train_batch_size", "1", "per_device_train_batch_size 1"},
                   {"lora_r", "8", "lora_rank 8"},
                   {"lora_dropout", "0.05", nullptr},
                   {"lora_target_modules", "all-linear", "target_modules all-linear"},
                   {"use_bnb_nested_quant", "true", nullptr},
                   {"bf16", "true", "torch_dtype bfloat16"}},
      .keys = {.read = {},
               .not_predicted = {std::begin(kSwiftNotPredicted), std::end(kSwiftNotPredicted)},
               .irrelevant = {std::begin(kSwiftIrrelevant), std::end(kSwiftIrrelevant)}},
      .words = {{"in \"deepspeed\", \"zero_optimization\": {\"stage\": 0}", "--deepspeed zero0"},
                {"in \"deepspeed\", \"zero_optimization\": {\"stage\": 1}", "--deepspeed zero1"},
                {"in \"deepspeed\", \"zero_optimization\": {\"stage\": 2}", "--deepspeed zero2"},
                {"in \"deepspeed\", \"zero_optimization\": {\"stage\": 3}", "--deepspeed zero3"},
                {"in \"deepspeed\", \"zero_optimization\": {\"stage\": 2, "
                 "\"offload_optimizer\": {\"device\": \"cpu\"}}",
                 "--deepspeed zero2_offload"},
                {"in \"deepspeed\", \"zero_optimization\": {\"stage\": 3, "
                 "\"offload_optimizer\": {\"device\": \"cpu\"}, "
                 "\"offload_param\": {\"device\": \"cpu\"}}",
                 "--deepspeed zero3_offload"}},
      .freezes_encoders = true};
  return *kFrontEnd;
}

}  // namespace evenkeel::cli
