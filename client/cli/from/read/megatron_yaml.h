// Configurations in YAML with Megatron-LM's names: its own, FlagScale's and Megatron-Bridge's.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_MEGATRON_YAML_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_MEGATRON_YAML_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Sorts the settings of the file `path`, and of the file that an experiment of FlagScale names.
// `wanted` is the format that --framework names, if any. Throws CommandError(kBadInput) if that
// file is missing.
UserConfig ReadMegatronYaml(std::vector<Setting> settings, const std::string& path,
                            std::optional<ConfigFormat> wanted);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_MEGATRON_YAML_H_
