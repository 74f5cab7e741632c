// Names of the contract's enums, and of yes and no, on the command line and in its output: one
// table for each.
#ifndef EVENKEEL_CLIENT_CLI_JOB_OPTION_NAMES_H_
#define EVENKEEL_CLIENT_CLI_JOB_OPTION_NAMES_H_

#include <absl/strings/str_join.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/text.h"
#include "evenkeel/v1/batching.pb.h"
#include "evenkeel/v1/cluster.pb.h"
#include "evenkeel/v1/job.pb.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

template <typename Enum, size_t kSize>
using OptionNames = std::pair<const char*, Enum>[kSize];

// Returns the value of a name, or the first of the enum, which is "unspecified".
template <typename Enum, size_t kSize>
Enum ValueOf(const OptionNames<Enum, kSize>& names, const std::string& name) {
  for (const auto& [known, value] : names)
    if (name == known) return value;
  return {};
}

// Returns the name of a value, or `otherwise` if it has none.
template <typename Enum, size_t kSize>
std::string NameOf(const OptionNames<Enum, kSize>& names, Enum of, const char* otherwise) {
  for (const auto& [name, value] : names)
    if (value == of) return name;
  return otherwise;
}

// Returns all names, in the order of the table.
template <typename Enum, size_t kSize>
std::vector<std::string> AllNames(const OptionNames<Enum, kSize>& names) {
  std::vector<std::string> all;
  for (const auto& [name, value] : names) all.emplace_back(name);
  return all;
}

// Returns all names with `between` between them.
template <typename Enum, size_t kSize>
std::string JoinedNames(const OptionNames<Enum, kSize>& names, const std::string& between) {
  return absl::StrJoin(AllNames(names), between);
}

inline constexpr std::pair<const char*, bool> kOnOffNames[] = {{"on", true}, {"off", false}};

inline constexpr std::pair<const char*, v1::Precision> kPrecisionNames[] = {
    {"bf16", v1::PRECISION_BF16},
    {"fp16", v1::PRECISION_FP16},
    {"fp8", v1::PRECISION_FP8},
    {"fp8-delayed", v1::PRECISION_FP8_DELAYED},
    {"fp8-block", v1::PRECISION_FP8_BLOCK},
    {"mxfp8", v1::PRECISION_MXFP8},
    {"nvfp4", v1::PRECISION_NVFP4}};

inline constexpr std::pair<const char*, v1::ExpertDispatcher> kDispatcherNames[] = {
    {"all-to-all", v1::EXPERT_DISPATCHER_ALL_TO_ALL},
    {"all-gather", v1::EXPERT_DISPATCHER_ALL_GATHER},
    {"deepep", v1::EXPERT_DISPATCHER_DEEPEP},
    {"hybridep", v1::EXPERT_DISPATCHER_HYBRIDEP},
    {"least-time", v1::EXPERT_DISPATCHER_LEAST_TIME}};

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

// Megatron-Core's names of modules whose inputs are offloaded.
inline constexpr std::pair<const char*, v1::OffloadModule> kOffloadModuleNames[] = {
    {"attn_norm", v1::OFFLOAD_MODULE_ATTENTION_NORM},
    {"qkv_linear", v1::OFFLOAD_MODULE_QKV},
    {"core_attn", v1::OFFLOAD_MODULE_CORE_ATTENTION},
    {"attn_proj", v1::OFFLOAD_MODULE_ATTENTION_PROJECTION},
    {"mlp_norm", v1::OFFLOAD_MODULE_MLP_NORM},
    {"expert_fc1", v1::OFFLOAD_MODULE_EXPERT_FC1},
    {"moe_act", v1::OFFLOAD_MODULE_MOE_ACTIVATION}};

inline constexpr std::pair<const char*, v1::TrainingFramework> kFrameworkNames[] = {
    {"megatron", v1::TRAINING_FRAMEWORK_MEGATRON},
    {"fsdp", v1::TRAINING_FRAMEWORK_FSDP},
    {"deepspeed", v1::TRAINING_FRAMEWORK_DEEPSPEED}};

inline constexpr std::pair<const char*, v1::GroupSelection> kGroupSelectionNames[] = {
    {"one", v1::GROUP_SELECTION_ONE},
    {"published", v1::GROUP_SELECTION_PUBLISHED},
    {"exact", v1::GROUP_SELECTION_EXACT}};

inline constexpr std::pair<const char*, v1::ContextExchange> kContextExchangeNames[] = {
    {"ulysses", v1::CONTEXT_EXCHANGE_ULYSSES},
    {"ring", v1::CONTEXT_EXCHANGE_RING},
    {"all-gather", v1::CONTEXT_EXCHANGE_ALL_GATHER},
    {"hierarchical", v1::CONTEXT_EXCHANGE_HIERARCHICAL},
    {"ulysses-or-ring", v1::CONTEXT_EXCHANGE_ULYSSES_OR_RING}};

inline constexpr std::pair<const char*, v1::GradientPrecision> kGradientNames[] = {
    {"fp32", v1::GRADIENT_PRECISION_FP32}, {"16bit", v1::GRADIENT_PRECISION_16BIT}};

inline constexpr std::pair<const char*, v1::NetworkFabric> kFabricNames[] = {
    {"rdma", v1::NETWORK_FABRIC_RDMA}, {"efa", v1::NETWORK_FABRIC_EFA}};

inline constexpr std::pair<const char*, v1::Packer> kPackerNames[] = {
    {"balanced", v1::PACKER_BALANCED},
    {"isf", v1::PACKER_ISF},
    {"first-fit-decreasing", v1::PACKER_FIRST_FIT_DECREASING},
    {"best-fit-decreasing", v1::PACKER_BEST_FIT_DECREASING},
    {"greedy-knapsack", v1::PACKER_GREEDY_KNAPSACK},
    {"next-fit", v1::PACKER_NEXT_FIT}};

inline constexpr std::pair<const char*, v1::PackLevel> kPackLevelNames[] = {
    {"tokens", v1::PACK_LEVEL_TOKENS}, {"time", v1::PACK_LEVEL_TIME}};

inline constexpr std::pair<const char*, v1::OversizePolicy> kOversizeNames[] = {
    {"alone", v1::OVERSIZE_POLICY_ALONE}, {"reject", v1::OVERSIZE_POLICY_REJECT}};

inline constexpr std::pair<const char*, v1::PipelineSchedule> kScheduleNames[] = {
    {"1f1b", v1::PIPELINE_SCHEDULE_1F1B},
    {"interleaved", v1::PIPELINE_SCHEDULE_INTERLEAVED},
    {"gpipe", v1::PIPELINE_SCHEDULE_GPIPE},
    {"zero-bubble", v1::PIPELINE_SCHEDULE_ZERO_BUBBLE}};

inline constexpr std::pair<const char*, v1::PartitionMethod> kPartitionNames[] = {
    {"exact", v1::PARTITION_METHOD_EXACT},
    {"bmp", v1::PARTITION_METHOD_BMP},
    {"parameters", v1::PARTITION_METHOD_PARAMETERS},
    {"layers", v1::PARTITION_METHOD_LAYERS},
    {"profile", v1::PARTITION_METHOD_PROFILE},
    {"layers-last", v1::PARTITION_METHOD_LAYERS_LAST},
    {"weights", v1::PARTITION_METHOD_WEIGHTS}};

inline constexpr std::pair<const char*, v1::RecomputePolicy> kRecomputeNames[] = {
    {"auto", v1::RECOMPUTE_POLICY_AUTO},
    {"none", v1::RECOMPUTE_POLICY_FORBIDDEN},
    {"full", v1::RECOMPUTE_POLICY_FULL},
    {"whole-layers", v1::RECOMPUTE_POLICY_WHOLE_LAYERS},
    {"adaptive", v1::RECOMPUTE_POLICY_ADAPTIVE},
    {"one-setting", v1::RECOMPUTE_POLICY_ONE_SETTING}};

inline constexpr std::pair<const char*, v1::ObjectiveKind> kObjectiveNames[] = {
    {"step-time", v1::OBJECTIVE_KIND_STEP_TIME},
    {"gpu-days", v1::OBJECTIVE_KIND_GPU_DAYS},
    {"fewest-gpus", v1::OBJECTIVE_KIND_FEWEST_GPUS},
    {"cost", v1::OBJECTIVE_KIND_COST}};

// Return the name of a precision, a dispatcher of experts or a packer, or that of the default for
// one that is not set.
inline std::string PrecisionName(v1::Precision precision) {
  return NameOf(kPrecisionNames, precision, "bf16");
}
inline std::string DispatcherName(v1::ExpertDispatcher dispatcher) {
  return NameOf(kDispatcherNames, dispatcher, "all-to-all");
}
inline std::string PackerName(v1::Packer packer) {
  return NameOf(kPackerNames, packer, packer == v1::PACKER_UNSPECIFIED ? "balanced" : "unknown");
}

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_OPTION_NAMES_H_
