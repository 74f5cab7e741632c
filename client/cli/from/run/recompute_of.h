// What a configuration recomputes.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_RECOMPUTE_OF_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_RECOMPUTE_OF_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

Recompute RecomputeOf(const UserConfig& config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_RECOMPUTE_OF_H_
