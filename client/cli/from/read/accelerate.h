// Options of `accelerate launch`, and the YAML of its --config_file, besides the arguments of a
// Trainer.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_ACCELERATE_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_ACCELERATE_H_

#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Returns whether a file has the keys of a launch file.
bool IsAccelerate(const std::vector<Setting>& settings);

// Adds to *config what the launch file at `path` says, and what the configurations of DeepSpeed and
// FSDP say that it contains or names.
void SortAccelerate(std::vector<Setting> settings, const std::string& path, UserConfig* config);

// Removes the options of `accelerate launch` from TRL's arguments, among which they may be, and
// returns them.
std::vector<Setting> TakeLaunchOptions(std::vector<Setting>* arguments);

// Returns what the options of `accelerate launch`, and the launch file that they name, say. The
// settings have the keys of that file. Stores the path of the file in *file.
std::vector<Setting> LaunchSettings(const std::vector<Setting>& options, const std::string& path,
                                    std::string* file, std::vector<std::string>* notes);

// Adds the settings of a launch file to those of options, which take precedence. Notes say where
// older releases of accelerate differ.
std::vector<Setting> JoinLaunch(std::vector<Setting> options, std::vector<Setting> file,
                                std::vector<std::string>* notes);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_ACCELERATE_H_
