// Formats --help: descriptions are wrapped to the width of the output.
#ifndef EVENKEEL_CLIENT_CLI_BASE_HELP_FORMATTER_H_
#define EVENKEEL_CLIENT_CLI_BASE_HELP_FORMATTER_H_

#include <CLI/App.hpp>
#include <functional>
#include <memory>

namespace evenkeel::cli {

// `width` is asked for the columns each time that a help text is made, because options set them.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter(std::function<int()> width);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_HELP_FORMATTER_H_
