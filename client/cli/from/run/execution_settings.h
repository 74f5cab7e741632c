// Precision, sharding, offload and execution of a configuration.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_EXECUTION_SETTINGS_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_EXECUTION_SETTINGS_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

// Sets precision, optimizer, sharding, offload and execution. The run's degrees are final.
void SetExecutionSettings(const UserConfig& config, const JobFlags& flags, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_EXECUTION_SETTINGS_H_
