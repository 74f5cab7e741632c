// Whole-number arithmetic of a shell: $((GPUS_PER_NODE * NODES)), ((PP > 1 && TP > 1)).
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_SUM_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_SUM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace evenkeel::cli {

// Returns the value of numbers, names, + - * / %, comparisons, ! && || and brackets, or nullopt if
// the text is something else, a name has no whole value, or a result leaves 53 bits. A comparison
// is 1 or 0. `value_of` gives the text of a name.
std::optional<int64_t> ShellSum(const std::string& text,
                                const std::function<std::string(const std::string&)>& value_of);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_SUM_H_
