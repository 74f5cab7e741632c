// What Megatron-LM refuses at start, or in the first step.
#ifndef EVENKEEL_CLIENT_CLI_FROM_MEGATRON_RULES_H_
#define EVENKEEL_CLIENT_CLI_FROM_MEGATRON_RULES_H_

#include "client/cli/from/setting.h"
#include "client/cli/from/user_run.h"

namespace evenkeel::cli {

// Refuses pairs of settings that Megatron-LM refuses. Does nothing for other trainers.
void CheckMegatronRules(const UserConfig& config, const UserRun& run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_MEGATRON_RULES_H_
