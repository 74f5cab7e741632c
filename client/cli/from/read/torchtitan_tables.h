// Tables of torchtitan's TOML that have no effect.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_TORCHTITAN_TABLES_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_TORCHTITAN_TABLES_H_

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Counts as irrelevant what tables of quantisation say that no converter reads, and notes which
// tables these are.
void DropIdleTables(UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_TORCHTITAN_TABLES_H_
