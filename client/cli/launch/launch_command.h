// Launch settings as a person pastes them: a command line, files, notes.
#ifndef EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_
#define EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_

#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// The trainers by the names of --framework.
const std::vector<std::pair<const char*, v1::LaunchFramework>>& LaunchFrameworks();
std::string NameOf(v1::LaunchFramework framework);

// `text` as one word of a shell.
std::string ShellWord(const std::string& text);

// The words of the program and its arguments. `program`: the user's own, where it is not empty.
std::vector<std::string> ProgramWords(const v1::Launch& launch, const std::string& program);

// Each a NAME=VALUE, in place of one of that name; throws CommandError where one is not.
void AddVariables(const std::vector<std::string>& given, v1::Launch* launch);

// A shell script: what of the plan runs and what is lost as comments, the files as here-documents
// unless `files_written`, and `torchrun` for one node, which takes NODE_RANK and MASTER_ADDR from
// the environment where there are several.
std::string RenderLaunch(const v1::Plan& plan, const v1::Launch& launch, const std::string& program,
                         bool files_written);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_LAUNCH_LAUNCH_COMMAND_H_
