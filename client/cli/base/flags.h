// Options of several commands, and the values that they accept.
#ifndef EVENKEEL_CLIENT_CLI_BASE_FLAGS_H_
#define EVENKEEL_CLIENT_CLI_BASE_FLAGS_H_

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/base/parse_number.h"

namespace evenkeel::cli {

// Adds an option whose last value counts. `type` is the name of its value in the help.
template <typename T>
CLI::Option* Add(CLI::App* command, const std::string& name, T* target, const std::string& type,
                 const std::string& help, const std::string& group) {
  return command->add_option(name, *target, help)->type_name(type)->group(group)->take_last();
}

// Accepts numbers from `min` to `max`. The request cannot distinguish a zero from a flag that was
// not given, so ranges are checked here.
template <typename Number>
CLI::Validator In(Number min, Number max, const char* what) {
  const auto check = [=](const std::string& text) -> std::string {
    const std::optional<Number> value = ParseNumber<Number>(text);
    if (value && *value >= min && *value <= max) return "";
    return fmt::format("must be {} from {} to {}, but is \"{}\"", what, min, max, text);
  };
  return CLI::Validator(check, "");
}

inline CLI::Validator Whole(int64_t min, int64_t max) { return In(min, max, "a whole number"); }
inline CLI::Validator Real(double min, double max) { return In(min, max, "a number"); }

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_FLAGS_H_
