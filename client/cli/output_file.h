// Files that commands write beside their answer.
#ifndef EVENKEEL_CLIENT_CLI_OUTPUT_FILE_H_
#define EVENKEEL_CLIENT_CLI_OUTPUT_FILE_H_

#include <string>

namespace evenkeel::cli {

// Throws CommandError(kBadInput) if something is there and may not be written over: for a look
// before the work. An empty path is no file.
void CheckMayWrite(const std::string& path, bool force);

// The file appears under its name only when it is whole. Throws CommandError(kBadInput).
void WriteWholeFile(const std::string& path, const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_OUTPUT_FILE_H_
