// Data of a configuration: how long samples are, how they are padded, and how often they come.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_DATA_OF_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_DATA_OF_H_

#include <cstdint>

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

// Returns the tokens to which Hugging Face's arguments cut samples, 0 if they do not.
int64_t LongestSample(const UserConfig& config);

// Sets how Hugging Face Trainer makes micro-batches and how often it goes through the data. Does
// nothing for other trainers.
void SetPadding(const UserConfig& config, const JobFlags& flags, UserRun* run);

// Cuts the data as the run does. Where there are none, sets samples of one length.
void SetRunData(const UserConfig& config, const JobFlags& flags, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_DATA_OF_H_
