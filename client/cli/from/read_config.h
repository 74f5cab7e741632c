// Reads a trainer's configuration, whichever it is.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_CONFIG_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_CONFIG_H_

#include <string>
#include <vector>

#include "client/cli/from/setting.h"

namespace evenkeel::cli {

// Reads `paths` ("-": standard input), and the train section that a FlagScale experiment names.
// Only Hugging Face Trainer has several files: its arguments, an adapter's configuration and the
// launch file of accelerate. `framework` is
// "megatron", "flagscale", "deepspeed", "torchtitan" or "huggingface", or empty: then the content
// decides. Throws CommandError(kBadInput) with file, line and reason.
UserConfig ReadUserConfig(const std::vector<std::string>& paths, const std::string& framework);

// The same for a text that is already there. `path` names it, and finds files beside it.
UserConfig ReadConfigText(const std::string& text, const std::string& path,
                          const std::string& framework);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_CONFIG_H_
