// Files that commands write in addition to their answer.
#ifndef EVENKEEL_CLIENT_CLI_BASE_OUTPUT_FILE_H_
#define EVENKEEL_CLIENT_CLI_BASE_OUTPUT_FILE_H_

#include <string>

namespace evenkeel::cli {

// Throws CommandError(kBadInput) if the file exists and may not be overwritten. Commands call this
// before the work. An empty path stands for no file.
void CheckMayWrite(const std::string& path, bool force);

// Writes `text` with hidden characters written out. Throws CommandError(kBadInput).
void WriteVisibleText(const std::string& path, const std::string& text);

// Writes `text` as above, but the file appears under its name only when it is complete.
void WriteWholeFile(const std::string& path, const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_OUTPUT_FILE_H_
