// Configurations in YAML with Megatron-LM's names: its own, FlagScale's and Megatron-Bridge's.
#ifndef EVENKEEL_CLIENT_CLI_FROM_MEGATRON_YAML_H_
#define EVENKEEL_CLIENT_CLI_FROM_MEGATRON_YAML_H_

#include <string>
#include <vector>

#include "client/cli/from/setting.h"

namespace evenkeel::cli {

// Sorts the settings of the file `path`, and of the file that an experiment of FlagScale names.
// `framework` is that of --framework, or empty. Throws CommandError(kBadInput) if that file is
// missing.
UserConfig ReadMegatronYaml(std::vector<Setting> settings, const std::string& path,
                            const std::string& framework);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_MEGATRON_YAML_H_
