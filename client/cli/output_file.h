// Files that commands write beside their answer.
#ifndef EVENKEEL_CLIENT_CLI_OUTPUT_FILE_H_
#define EVENKEEL_CLIENT_CLI_OUTPUT_FILE_H_

#include <string>

namespace evenkeel::cli {

// Throws CommandError(kBadInput) if a file is there and may not be written over. Commands call this
// before the work. An empty path stands for no file.
void CheckMayWrite(const std::string& path, bool force);

// Writes the file, which appears under its name only when it is whole. Throws
// CommandError(kBadInput).
void WriteWholeFile(const std::string& path, const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_OUTPUT_FILE_H_
