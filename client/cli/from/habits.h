// Precision, sharding, offload and execution of a configuration.
#ifndef EVENKEEL_CLIENT_CLI_FROM_HABITS_H_
#define EVENKEEL_CLIENT_CLI_FROM_HABITS_H_

#include "client/cli/from/setting.h"
#include "client/cli/from/user_run.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

// Sets precision, optimizer, sharding and habits. `degrees` are final.
void SetHabits(const UserConfig& config, const JobFlags& flags, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_HABITS_H_
