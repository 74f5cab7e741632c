// FSDP as Hugging Face's arguments ask for it: the words of "fsdp", and fsdp_config.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_FSDP_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_FSDP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// Returns whether accelerate turns FSDP on, not Hugging Face's arguments.
bool IsFsdpOfAccelerate(const UserConfig& config);

// Returns the words of "fsdp" in Hugging Face's arguments; none without FSDP, and an empty one if
// accelerate turns it on.
std::vector<std::string> FsdpOptions(const UserConfig& config);

// Returns what FSDP shards, and sets what it keeps in host memory. Sets how many groups of ranks
// each hold all states.
v1::ZeroStage FsdpSharding(const UserConfig& config, UserRun* run, int64_t* groups);

// Sets the trainer whose record has the run's stage, and FSDP's defaults: FSDP's own record has
// only full shards.
void SetFsdpTrainer(UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_FSDP_H_
