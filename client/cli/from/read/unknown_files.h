// Files that are no configuration, or one of a trainer that is not read.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_UNKNOWN_FILES_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_UNKNOWN_FILES_H_

#include <string>

namespace evenkeel::cli {

// Returns what a file may be, for one whose format is not known.
std::string AcceptedText();

// Returns whether it is a text, in some encoding.
bool IsText(const std::string& content);

// All throw CommandError(kBadInput); the last only for configurations that name another trainer.
// `kind` is how the content is written.
[[noreturn]] void FailReading(const std::string& message);
[[noreturn]] void FailWithoutSetting(const std::string& kind, const std::string& name);
void RefuseOtherTrainers(const std::string& whole, const std::string& name);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_UNKNOWN_FILES_H_
