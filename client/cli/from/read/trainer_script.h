// Commands that run Hugging Face's Trainer: by python, torchrun, deepspeed, accelerate or trl.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_TRAINER_SCRIPT_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_TRAINER_SCRIPT_H_

#include <string>

#include "client/cli/from/settings/setting.h"
#include "client/cli/from/shell/shell.h"

namespace evenkeel::cli {

// Adds to *config the command of `script` that runs a Trainer. Unless the script is `known` to run
// one, the arguments of a command decide whether it does. Returns false if no command does;
// *missing then says which file that a command names is missing, if any. Options of srun in front
// of the command replace what script->slurm says.
bool SortTrainerCommand(ShellScript* script, const std::string& path, bool known,
                        UserConfig* config, std::string* missing);

// Returns the note that one of several commands was read.
std::string CommandNote(int count, int line);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_TRAINER_SCRIPT_H_
