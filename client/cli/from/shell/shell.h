// Reads a shell script as far as a command line of arguments needs it: words, quotes, comments,
// continued lines, variables, arrays, sums, here-documents, and scripts that are arguments (`bash
// -c`, `eval`) or the input of a shell or sbatch. Variables of Slurm are as its "#SBATCH" lines
// ask. Runs nothing. Branches that the script itself decides are followed; of others, and in loops,
// every assignment counts, in order. A variable that nothing sets is empty in tests.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_SHELL_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_SHELL_H_

#include <string>

#include "client/cli/base/environment.h"
#include "client/cli/from/shell/script.h"

namespace evenkeel::cli {

// `name` stands in messages. Throws CommandError(kBadInput) where a quote or bracket is not closed,
// if variables grow beyond what a script of a trainer needs, or if the text does not have the name
// of a variable of `environment`. There, the names 1, 2, ... are those of the script's arguments;
// without them, it has none.
ShellScript ReadShell(const std::string& text, const std::string& name,
                      const Environment& environment = {});

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_SHELL_H_
