// Reads a plan from a file.
#ifndef EVENKEEL_CLIENT_CLI_COMMANDS_PLAN_FILE_H_
#define EVENKEEL_CLIENT_CLI_COMMANDS_PLAN_FILE_H_

#include <string>

#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// Reads a Plan in protobuf JSON, or an answer that contains one. "-" is standard input. Throws
// CommandError(kBadInput).
v1::Plan ReadPlanFile(const std::string& path);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_COMMANDS_PLAN_FILE_H_
