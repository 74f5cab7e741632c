// What torchtitan does by default, and how it cuts a model into stages.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_TORCHTITAN_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_TORCHTITAN_H_

#include <cstdint>

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// Sets how stages are cut.
void SetTorchtitanStages(const UserConfig& config, UserRun* run);
// Cuts a language model of so many layers, where the run has a cut.
void CutTorchtitanStages(int64_t layers, UserRun* run);
// Returns what is sharded.
v1::ZeroStage TorchtitanSharding(const UserConfig& config, const UserRun& run);
v1::Precision TorchtitanPrecision(const UserConfig& config, UserRun* run);
void SetTorchtitanExecution(const UserConfig& config, UserRun* run);
// Sets what its record says of any job, where nothing is set.
void AddTorchtitanDefaults(v1::Execution* execution);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_TORCHTITAN_H_
