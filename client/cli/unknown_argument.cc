#include "client/cli/unknown_argument.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "planner/base/name_search.h"

namespace evenkeel::cli {
namespace {

constexpr int kSuggestions = 3;

std::string Nearest(planner::NameSearch search, const std::string& prefix) {
  const std::vector<std::string> names = std::move(search).Nearest(kSuggestions);
  if (names.empty()) return "";
  return "; nearest: " + prefix + absl::StrJoin(names, ", " + prefix);
}

std::string UnknownCommand(const CLI::App& app, const std::string& word) {
  planner::NameSearch search(word);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    search.Add(command->get_name(), {});
  return fmt::format("there is no command \"{}\"{}", word, Nearest(std::move(search), ""));
}

std::string UnknownOption(const CLI::App& app, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  planner::NameSearch search(option.substr(option.find_first_not_of('-')));
  const auto add = [&search](const CLI::App& owner) {
    for (const CLI::Option* known : owner.get_options()) {
      for (const std::string& name : known->get_lnames()) search.Add(name, {});
    }
  };
  add(app);
  for (const CLI::App* command = &app; !command->get_subcommands().empty();) {
    command = command->get_subcommands().front();
    add(*command);
  }
  return fmt::format("there is no option {}{}", option, Nearest(std::move(search), "--"));
}

}  // namespace

std::string UnknownArgument(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  const auto is_option = [](const std::string& word) {
    return word.find_first_not_of('-') != std::string::npos && word.starts_with('-');
  };
  const auto plain = std::find_if_not(words.begin(), words.end(), is_option);
  if (app.get_subcommands().empty() && plain != words.end()) return UnknownCommand(app, *plain);
  // What follows an unknown option is its value, so the option comes first.
  const auto option = std::find_if(words.begin(), words.end(), is_option);
  if (option != words.end()) return UnknownOption(app, *option);
  return fmt::format("unexpected argument \"{}\"", plain == words.end() ? "" : *plain);
}

}  // namespace evenkeel::cli
