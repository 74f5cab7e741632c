#include "client/cli/from/read/options.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>

namespace evenkeel::cli {

bool IsOption(const std::string& word) {
  return word.size() > 2 && absl::StartsWith(word, "--") && absl::ascii_isalpha(word[2]);
}

bool IsProgram(const std::string& word) { return absl::EndsWith(word, ".py"); }

bool Prints(const std::vector<ShellWord>& words) {
  return words.front().text == "echo" || words.front().text == "printf";
}

std::vector<Setting> OptionsOf(const std::vector<ShellWord>& words, size_t from, size_t to,
                               const std::string& name) {
  std::vector<Setting> options;
  for (size_t i = from; i < to; ++i) {
    const ShellWord& word = words[i];
    // The script's own arguments, which are not known.
    if (absl::StartsWith(word.text, "${@") || absl::StartsWith(word.text, "${*")) continue;
    const std::string where = fmt::format("{}:{}", name, word.line);
    if (!IsOption(word.text)) {
      if (!options.empty() && word.text.rfind("${", 0) != 0)
        options.back().values.push_back(word.text);
      else if (!options.empty() && options.back().values.empty())
        options.back().values.push_back(word.text);
      continue;
    }
    const size_t equals = word.text.find('=');
    options.push_back({word.text.substr(0, equals), {}, where});
    if (equals != std::string::npos) options.back().values = {word.text.substr(equals + 1)};
  }
  return options;
}

}  // namespace evenkeel::cli
