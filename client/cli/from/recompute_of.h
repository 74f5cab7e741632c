// What a configuration recomputes.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RECOMPUTE_OF_H_
#define EVENKEEL_CLIENT_CLI_FROM_RECOMPUTE_OF_H_

#include "client/cli/from/setting.h"
#include "client/cli/from/user_run.h"

namespace evenkeel::cli {

Recompute RecomputeOf(const UserConfig& config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RECOMPUTE_OF_H_
