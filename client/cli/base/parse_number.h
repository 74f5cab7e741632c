// Numbers that users write.
#ifndef EVENKEEL_CLIENT_CLI_BASE_PARSE_NUMBER_H_
#define EVENKEEL_CLIENT_CLI_BASE_PARSE_NUMBER_H_

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace evenkeel::cli {

// Returns the number that the whole text is, or nothing if it is none, not finite or out of the
// type's range.
// Unlike absl::SimpleAtoi and SimpleAtod, it takes neither blanks around the number nor a plus.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_PARSE_NUMBER_H_
