// Names of trainers, for those that may be misspelt.
#ifndef EVENKEEL_CLIENT_CLI_JOB_TRAINER_NAMES_H_
#define EVENKEEL_CLIENT_CLI_JOB_TRAINER_NAMES_H_

#include <string>
#include <string_view>

namespace evenkeel::cli {

// Returns the known trainer whose name is most like this one, or "" if none is.
std::string NearestTrainer(std::string_view name);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_TRAINER_NAMES_H_
