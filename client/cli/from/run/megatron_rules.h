// What Megatron-LM refuses at start, or in the first step.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_MEGATRON_RULES_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_MEGATRON_RULES_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Refuses pairs of settings that Megatron-LM refuses. Does nothing for other trainers.
void CheckMegatronRules(const UserConfig& config, const UserRun& run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_MEGATRON_RULES_H_
