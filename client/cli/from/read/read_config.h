// Reads a trainer's configuration, whichever it is.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_READ_CONFIG_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_READ_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/base/environment.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Reads `paths` ("-": standard input), and the train section that a FlagScale experiment names.
// Only Hugging Face Trainer has several files: its arguments, an adapter's configuration and the
// launch file of accelerate. If `wanted` is not set, the content says which format it is.
// `environment` is for scripts, and refused if none of the files is one. Throws
// CommandError(kBadInput) with file, line and reason.
UserConfig ReadUserConfig(const std::vector<std::string>& paths,
                          std::optional<ConfigFormat> wanted = {},
                          const Environment& environment = {});

// The same for a text that is already there. `path` names it, and files are looked for next to it.
UserConfig ReadConfigText(const std::string& text, const std::string& path,
                          std::optional<ConfigFormat> wanted = {},
                          const Environment& environment = {});

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_READ_CONFIG_H_
