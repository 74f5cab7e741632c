// Names of precisions, optimizers and modules on the command line and in its output.
#ifndef EVENKEEL_CLIENT_CLI_JOB_TRAINING_NAMES_H_
#define EVENKEEL_CLIENT_CLI_JOB_TRAINING_NAMES_H_

#include <string>
#include <utility>

#include "evenkeel/v1/job.pb.h"

namespace evenkeel::cli {

inline constexpr std::pair<const char*, v1::Precision> kPrecisionNames[] = {
    {"bf16", v1::PRECISION_BF16},
    {"fp16", v1::PRECISION_FP16},
    {"fp8", v1::PRECISION_FP8},
    {"fp8-delayed", v1::PRECISION_FP8_DELAYED},
    {"fp8-block", v1::PRECISION_FP8_BLOCK},
    {"mxfp8", v1::PRECISION_MXFP8},
    {"nvfp4", v1::PRECISION_NVFP4}};

// Returns the name of a precision; "bf16" for one that is not set.
inline std::string PrecisionName(v1::Precision precision) {
  for (const auto& [name, value] : kPrecisionNames) {
    if (value == precision) return name;
  }
  return "bf16";
}

inline constexpr std::pair<const char*, v1::ExpertDispatcher> kDispatcherNames[] = {
    {"all-to-all", v1::EXPERT_DISPATCHER_ALL_TO_ALL},
    {"all-gather", v1::EXPERT_DISPATCHER_ALL_GATHER},
    {"deepep", v1::EXPERT_DISPATCHER_DEEPEP},
    {"hybridep", v1::EXPERT_DISPATCHER_HYBRIDEP},
    {"least-time", v1::EXPERT_DISPATCHER_LEAST_TIME}};

// Returns the name of a dispatcher of experts; "all-to-all" for one that is not set.
inline std::string DispatcherName(v1::ExpertDispatcher dispatcher) {
  for (const auto& [name, value] : kDispatcherNames) {
    if (value == dispatcher) return name;
  }
  return "all-to-all";
}

inline constexpr std::pair<const char*, v1::FrozenFormat> kFrozenFormatNames[] = {
    {"16bit", v1::FROZEN_FORMAT_16BIT},
    {"nf4", v1::FROZEN_FORMAT_NF4},
    {"nf4-double", v1::FROZEN_FORMAT_NF4_DOUBLE},
    {"int8", v1::FROZEN_FORMAT_INT8}};

inline constexpr std::pair<const char*, v1::Optimizer> kOptimizerNames[] = {
    {"adam", v1::OPTIMIZER_ADAM},
    {"adam-16bit-moments", v1::OPTIMIZER_ADAM_16BIT_MOMENTS},
    {"adam-8bit-moments", v1::OPTIMIZER_ADAM_8BIT_MOMENTS},
    {"adam-16bit", v1::OPTIMIZER_ADAM_16BIT},
    {"adam-8bit", v1::OPTIMIZER_ADAM_8BIT},
    {"adafactor", v1::OPTIMIZER_ADAFACTOR},
    {"lion", v1::OPTIMIZER_LION},
    {"sgd", v1::OPTIMIZER_SGD},
    {"muon", v1::OPTIMIZER_MUON}};

// Returns the name of an optimizer, or "" for one that is unset or Adam.
inline std::string OptimizerName(v1::Optimizer optimizer) {
  for (const auto& [name, value] : kOptimizerNames) {
    if (value == optimizer && value != v1::OPTIMIZER_ADAM) return name;
  }
  return "";
}

// Megatron-Core's names of modules whose inputs are offloaded.
inline constexpr std::pair<const char*, v1::OffloadModule> kOffloadModuleNames[] = {
    {"attn_norm", v1::OFFLOAD_MODULE_ATTENTION_NORM},
    {"qkv_linear", v1::OFFLOAD_MODULE_QKV},
    {"core_attn", v1::OFFLOAD_MODULE_CORE_ATTENTION},
    {"attn_proj", v1::OFFLOAD_MODULE_ATTENTION_PROJECTION},
    {"mlp_norm", v1::OFFLOAD_MODULE_MLP_NORM},
    {"expert_fc1", v1::OFFLOAD_MODULE_EXPERT_FC1},
    {"moe_act", v1::OFFLOAD_MODULE_MOE_ACTIVATION}};

// Returns the module of a name, or OFFLOAD_MODULE_UNSPECIFIED.
inline v1::OffloadModule OffloadModuleOf(const std::string& name) {
  for (const auto& [known, module] : kOffloadModuleNames) {
    if (name == known) return module;
  }
  return v1::OFFLOAD_MODULE_UNSPECIFIED;
}

// Returns the name of a module, or its number where it is not known.
inline std::string OffloadModuleName(int module) {
  for (const auto& [name, known] : kOffloadModuleNames) {
    if (module == known) return name;
  }
  return std::to_string(module);
}

// Returns all names, joined by commas.
inline std::string OffloadModuleNames() {
  std::string names;
  for (const auto& [name, module] : kOffloadModuleNames)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_TRAINING_NAMES_H_
