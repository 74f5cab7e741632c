// Joins what several files say of one run of Hugging Face Trainer.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_MERGE_FILES_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_MERGE_FILES_H_

#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Adds what another file of the same run says. Throws CommandError(kBadInput) if both files are of
// the same kind, or contradict each other.
void Merge(UserConfig other, UserConfig* config);

// Adds to *config the options of `accelerate launch`, or those that TRL passes on to it.
void AddLaunch(const std::vector<Setting>& options, const std::string& path, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_MERGE_FILES_H_
