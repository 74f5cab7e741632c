// The text that a user of the command line reads about a refused field.
#ifndef EVENKEEL_CLIENT_CLI_BACKEND_REFUSAL_H_
#define EVENKEEL_CLIENT_CLI_BACKEND_REFUSAL_H_

#include <span>
#include <string>
#include <string_view>

namespace evenkeel::cli {

// A field of PlanJobRequest, or a message with all of its fields, and the flag that sets it.
struct FlagOfField {
  std::string_view field;
  std::string_view flag;
};

std::span<const FlagOfField> FlagsOfFields();

// Returns "FIELD (FLAG): DESCRIPTION", without the flag if no single one sets the field.
std::string RefusalLine(const std::string& field, const std::string& description);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BACKEND_REFUSAL_H_
