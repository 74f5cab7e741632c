// Launch settings in a form that a person can paste: a command line, files, notes.
#ifndef EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_
#define EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/job/job_flags.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// Returns the trainers by the names of --framework.
const std::vector<std::pair<const char*, v1::LaunchFramework>>& LaunchFrameworks();
std::string NameOf(v1::LaunchFramework framework);
// Returns LAUNCH_FRAMEWORK_UNSPECIFIED for another name.
v1::LaunchFramework FrameworkOf(const std::string& name);

// Asks for the settings of the trainers `names`, once each. A job given only by flags is planned
// for the trainer if it is the only one, unless a flag names another trainer, or asks for a
// pipeline that this one does not have.
void AddLaunchFrameworks(const std::vector<std::string>& names, const JobFlags& flags,
                         v1::Job* job);

// Quotes `text` as one word of a shell.
std::string ShellWord(const std::string& text);

// Returns the words of the program and its arguments. `program` is the user's own, if not empty.
std::vector<std::string> ProgramWords(const v1::Launch& launch, const std::string& program);

// Adds the variables, each as NAME=VALUE. They replace those of the same name. Throws CommandError
// if one is not NAME=VALUE.
void AddVariables(const std::vector<std::string>& given, v1::Launch* launch);

// Writes a shell script. Comments say what part of the plan runs and what is lost. The files are
// here-documents unless `files_written`. `torchrun` starts one node, and takes NODE_RANK and
// MASTER_ADDR from the environment if there are several.
std::string RenderLaunch(const v1::Plan& plan, const v1::Launch& launch, const std::string& program,
                         bool files_written);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_
