#include "client/cli/render/words.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "client/cli/base/text.h"

namespace evenkeel::cli {
namespace {

// Groups the digits of a word that is a whole number, with or without a mark at its end.
std::string Grouped(std::string_view word) {
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); };
  const size_t digits =
      static_cast<size_t>(std::find_if_not(word.begin(), word.end(), is_digit) - word.begin());
  const std::string_view rest = word.substr(digits);
  const bool is_number =
      digits > 3 && digits < 19 && (rest.empty() || rest == "," || rest == ";" || rest == ":");
  if (!is_number) return std::string(word);
  return Integer(std::stoll(std::string(word.substr(0, digits)))) + std::string(rest);
}

}  // namespace

std::string PluralOf(const std::string& noun) {
  return noun + (absl::EndsWith(noun, "ch") ? "es" : "s");
}

std::string Counted(int64_t count, const std::string& noun) {
  return fmt::format("{} {}", Integer(count), count == 1 ? noun : PluralOf(noun));
}

std::string CountedMean(double count, const std::string& noun) {
  const std::string number = Significant(count);
  return number == "1.00" ? "1 " + noun : fmt::format("{} {}", number, PluralOf(noun));
}

std::string WithThousands(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ' ')))
    words.push_back(Grouped(word));
  return absl::StrJoin(words, " ");
}

}  // namespace evenkeel::cli
