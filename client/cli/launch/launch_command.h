// Launch settings in a form that a person can paste: a command line, files, notes.
#ifndef EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_
#define EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/cli/job/job_flags.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// A framework that settings can be written for.
struct LaunchTarget {
  const char* name;  // of --framework and --launch
  v1::LaunchFramework framework;
  const char* trainer;  // planned for if the job names none; null: the service's default
};

const std::vector<LaunchTarget>& LaunchTargets();
std::vector<std::string> LaunchNames();
std::string NameOf(v1::LaunchFramework framework);
// Returns LAUNCH_FRAMEWORK_UNSPECIFIED for another name.
v1::LaunchFramework FrameworkOf(const std::string& name);

// Adds --launch, which AddLaunchFrameworks takes.
void AddLaunchOption(CLI::App* command, std::vector<std::string>* names, const std::string& help);

// Asks for the settings of the frameworks `names`, once each. If there is only one, a job given
// only by flags is planned for its trainer, unless a flag names another trainer, or asks for a
// feature that this trainer lacks.
void AddLaunchFrameworks(const std::vector<std::string>& names, const JobFlags& flags,
                         v1::Job* job);

// Returns the words of the program and its arguments. `program` is the user's own, if not empty.
std::vector<std::string> ProgramWords(const v1::Launch& launch, const std::string& program);

// Adds the variables, each as NAME=VALUE. They replace those of the same name. Throws CommandError
// if one is not NAME=VALUE.
void AddVariables(const std::vector<std::string>& given, v1::Launch* launch);

// Writes a shell script. Comments name the part of the plan that runs, and the loss. The files are
// here-documents unless `files_written`. `torchrun` starts one node, and takes NODE_RANK and
// MASTER_ADDR from the environment if there are several.
std::string RenderLaunch(const v1::Plan& plan, const v1::Launch& launch, const std::string& program,
                         bool files_written);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_
