#include "client/cli/app.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <sstream>

#include "client/cli/base/command_error.h"
#include "client/cli/base/help_formatter.h"
#include "client/cli/base/unknown_argument.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/global_options.h"

namespace evenkeel::cli {
namespace {

// The footer of commands that have none of their own.
constexpr const char* kCommandFooter =
    "`evenkeelctl --help` lists the options that every command takes, and the exit codes.";

constexpr const char* kFooter =
    "Exit codes:\n"
    "  0  done\n"
    "  1  the job does not fit; the answer says why and what would help (healthcheck: not "
    "serving)\n"
    "  2  bad usage, bad file, or a job that is refused (one fault per line)\n"
    "  3  no server, or a server that takes no work now\n"
    "  4  anything else: timeout, unknown plan, internal error\n"
    "\n"
    "To try it without a server:\n"
    "  evenkeelctl plan --local --model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 32";

constexpr const char* kHelpHint = "Run with --help for help.";

// Options may come before or after the command: a command hands back words that it does not know.
void Configure(CLI::App* app, const GlobalOptions* options) {
  app->require_subcommand(0, 1);  // a missing command is told apart from an unknown one below
  app->fallthrough();
  app->footer(kCommandFooter);  // each command inherits it
  app->formatter(MakeHelpFormatter([options] { return StyleOf(*options).width; }));
}

int Complain(const CommandError& error) {
  PrintError(fmt::format("evenkeelctl: {}\n", error.what()));
  for (const std::string& detail : error.details()) PrintError(detail + "\n");
  return static_cast<int>(error.code());
}

int Run(CLI::App* app, const std::vector<std::string>& arguments, const ExitCode* exit_code) {
  try {
    // CLI11 takes the arguments in reverse order, and without the program's name.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    if (!reversed.empty()) reversed.pop_back();
    app->parse(reversed);
    if (app->get_subcommands().empty()) {
      PrintError(app->help());
      return static_cast<int>(ExitCode::kBadInput);
    }
    return static_cast<int>(*exit_code);
  } catch (const CLI::ExtrasError&) {
    throw CommandError(ExitCode::kBadInput, UnknownArgument(*app), {kHelpHint});
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      throw CommandError(ExitCode::kBadInput, error.what(), {kHelpHint});
    }
    std::ostringstream help;
    app->exit(error, help, help);
    Print(help.str());
    return static_cast<int>(ExitCode::kOk);
  }
}

}  // namespace

int RunApp(const std::vector<std::string>& arguments) {
  CLI::App app(
      "Plans training jobs on GPU clusters: on an evenkeel-server, or in this process "
      "(--local).",
      "evenkeelctl");
  GlobalOptions options;
  options.arguments = arguments;
  if (!options.arguments.empty()) options.arguments[0] = "evenkeelctl";
  ExitCode exit_code = ExitCode::kOk;
  Configure(&app, &options);
  AddGlobalOptions(&app, &options);
  AddPlanCommands(&app, &options, &exit_code);
  AddCurveCommand(&app, &options, &exit_code);
  AddLaunchCommand(&app, &options, &exit_code);
  AddEvaluateCommand(&app, &options, &exit_code);
  AddStatsCommand(&app, &options);
  AddPackCommand(&app, &options);
  AddStoredPlanCommands(&app, &options, &exit_code);
  AddProfileCommands(&app, &options, &exit_code);
  AddCatalogCommands(&app, &options);
  AddStatusCommand(&app, &options);
  AddHealthCheckCommand(&app, &options, &exit_code);
  AddVersionCommand(&app, &options);
  app.footer(kFooter);
  try {
    return Run(&app, arguments, &exit_code);
  } catch (const CommandError& error) {
    return Complain(error);
  } catch (const std::exception& error) {
    return Complain(CommandError(ExitCode::kError, error.what()));
  }
}

}  // namespace evenkeel::cli
