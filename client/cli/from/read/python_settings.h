// Reads the Python files that `launch` writes for DeepSpeed and torchtitan.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_PYTHON_SETTINGS_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_PYTHON_SETTINGS_H_

#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Returns assignments of words, numbers and lists: "parallelism.tensor_parallel_degree" 2 for
// p.tensor_parallel_degree = 2 after p = config.parallelism; "PARTS" with its numbers. Other
// statements are left out. `first_line` is that of the text in its file.
std::vector<Setting> ReadPythonSettings(const std::string& text, const std::string& name,
                                        int first_line);

// Sorts them into torchtitan's keys and the lists of layers that `launch` writes beside those.
// Throws CommandError(kBadInput) if a list is none that `launch` writes.
void SortPythonSettings(const std::vector<Setting>& settings, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_PYTHON_SETTINGS_H_
