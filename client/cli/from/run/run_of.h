// Degrees, batches and layers of a configuration, and the run as a whole.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_RUN_OF_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_RUN_OF_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

// Returns the run of the configuration. Flags take precedence over the configuration, and the
// configuration over the job file. Throws CommandError(kBadInput) that names the argument, or the
// flag that is missing.
UserRun RunOf(const UserConfig& config, const JobFlags& flags);

// Settles what depends on the model's layers: cuts torchtitan's stages, gives a model with encoders
// data with units, where no data were given, and freezes components. Throws CommandError(kBadInput)
// if the stages cannot be cut, or if the configuration is one for encoders and the model has none.
void AdaptToLayers(const ModelLayers& layers, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_RUN_OF_H_
