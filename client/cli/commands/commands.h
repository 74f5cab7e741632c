// The commands, one file each. Every function declares its command on `app`. When the command line
// names it, its callback runs and writes the exit code. Callbacks throw CommandError.
#ifndef EVENKEEL_CLIENT_CLI_COMMANDS_COMMANDS_H_
#define EVENKEEL_CLIENT_CLI_COMMANDS_COMMANDS_H_

#include <CLI/App.hpp>

#include "client/cli/base/command_error.h"
#include "client/cli/commands/global_options.h"

namespace evenkeel::cli {

// `options` and `exit_code` must outlive the parsing.
void AddPlanCommands(CLI::App* app, const GlobalOptions* options,
                     ExitCode* exit_code);  // plan, validate
void AddCurveCommand(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code);
void AddLaunchCommand(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code);
void AddEvaluateCommand(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code);
void AddStoredPlanCommands(CLI::App* app, const GlobalOptions* options,
                           ExitCode* exit_code);  // get, list
void AddProfileCommands(CLI::App* app, const GlobalOptions* options,
                        ExitCode* exit_code);  // profile record, drift, list, roll-back
void AddCatalogCommands(CLI::App* app, const GlobalOptions* options);  // models, gpus, trainers
void AddStatsCommand(CLI::App* app, const GlobalOptions* options);
void AddPackCommand(CLI::App* app, const GlobalOptions* options);
void AddStatusCommand(CLI::App* app, const GlobalOptions* options);
void AddHealthCheckCommand(CLI::App* app, const GlobalOptions* options,
                           ExitCode* exit_code);  // healthcheck
void AddVersionCommand(CLI::App* app, const GlobalOptions* options);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_COMMANDS_COMMANDS_H_
