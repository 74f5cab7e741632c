// What the command line says of host memory, in a request, and names of modules.
#ifndef EVENKEEL_CLIENT_CLI_OFFLOAD_REQUEST_H_
#define EVENKEEL_CLIENT_CLI_OFFLOAD_REQUEST_H_

#include <string>
#include <utility>

#include "client/cli/job_flags.h"
#include "evenkeel/v1/job.pb.h"

namespace evenkeel::cli {

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
v1::OffloadModule OffloadModuleOf(const std::string& name);

// Returns the names, joined by commas.
std::string OffloadModuleNames();

// Returns the name of a module.
std::string OffloadModuleName(int module);

// Throws CommandError(kBadInput) where flags contradict each other.
void SetOffload(const JobFlags& flags, v1::Job* job);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_OFFLOAD_REQUEST_H_
