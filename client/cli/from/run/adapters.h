// Adapters of PEFT, and the frozen weights under them.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_ADAPTERS_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_ADAPTERS_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

// Sets what PEFT's adapter_config.json says. The model is already set.
void SetAdapters(const UserConfig& config, const JobFlags& flags, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_ADAPTERS_H_
