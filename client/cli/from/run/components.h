// Components of a model that a program around the Trainer, or Megatron's examples/multimodal,
// freezes.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_COMPONENTS_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_COMPONENTS_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

// Notes which components of a model with encoders are frozen, unless flags say it.
void SetComponents(const UserConfig& config, const JobFlags& flags, UserRun* run);

// Freezes the components that SetComponents noted. Throws CommandError(kBadInput) if the model
// should have `encoders` and has none.
void ApplyComponents(bool encoders, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_COMPONENTS_H_
