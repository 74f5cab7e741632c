// Numbers that users write.
#ifndef EVENKEEL_CLIENT_CLI_BASE_PARSE_NUMBER_H_
#define EVENKEEL_CLIENT_CLI_BASE_PARSE_NUMBER_H_

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace evenkeel::cli {

// Returns the number that the whole text is, or nothing if it is none or out of the type's range.
// Unlike absl::SimpleAtoi and SimpleAtod, it takes neither blanks around the number nor a plus.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_PARSE_NUMBER_H_
