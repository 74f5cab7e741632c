// The GPUs of a configuration.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_GPUS_OF_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_GPUS_OF_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Sets the number of GPUs, and of those in a node, that flags leave open. Throws
// CommandError(kBadInput) if there is not one pool, or if nothing says how many GPUs there are.
void SetGpus(const UserConfig& config, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_GPUS_OF_H_
