#include "client/cli/base/unknown_argument.h"

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

// Returns the name of a long option without its dashes and its value.
std::string BareName(const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

bool Knows(const CLI::App& command, const std::string& name) {
  const auto options = command.get_options();
  return std::any_of(options.begin(), options.end(),
                     [&name](const CLI::Option* option) { return option->check_lname(name); });
}

// Returns the first command, at any depth, that has the option; "" if none has it.
std::string CommandWith(const CLI::App& app, const std::string& option) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (Knows(*command, option)) return command->get_name();
    const std::string deeper = CommandWith(*command, option);
    if (!deeper.empty()) return command->get_name() + " " + deeper;
  }
  return "";
}

// Options of the application and of the commands that the arguments name.
std::vector<const CLI::App*> Named(const CLI::App& app) {
  std::vector<const CLI::App*> named{&app};
  while (!named.back()->get_subcommands().empty()) {
    named.push_back(named.back()->get_subcommands().front());
  }
  return named;
}

std::string UnknownOption(const CLI::App& app, const std::string& word) {
  const std::string name = BareName(word);
  const std::vector<const CLI::App*> named = Named(app);
  const bool known = std::any_of(named.begin(), named.end(),
                                 [&name](const CLI::App* owner) { return Knows(*owner, name); });
  const bool one_dash = word.starts_with('-') && !word.starts_with("--");
  if (known && one_dash) {
    return fmt::format("{} has one dash: write --{}", word.substr(0, word.find('=')), name);
  }
  if (known) {
    return fmt::format("--{} must follow the command, as in {} --{} ...", name,
                       named.back()->get_name(), name);
  }
  planner::NameSearch search(name);
  for (const CLI::App* owner : named) {
    for (const CLI::Option* option : owner->get_options()) {
      for (const std::string& long_name : option->get_lnames()) search.Add(long_name, {});
    }
  }
  const std::string nearest = Nearest(std::move(search), "--");
  const std::string owner = named.size() == 1 ? CommandWith(app, name) : "";
  if (!owner.empty()) {
    return fmt::format("--{} must follow a command, as in {} --{} ...", name, owner, name);
  }
  return fmt::format("there is no option {}{}", word.substr(0, word.find('=')), nearest);
}

}  // namespace

std::string UnknownArgument(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  const auto is_option = [](const std::string& word) {
    return !BareName(word).empty() && word.starts_with('-');
  };
  // The word after an unknown option is its value, so the option comes first.
  const auto option = std::find_if(words.begin(), words.end(), is_option);
  const bool names_command = !app.get_subcommands().empty();
  if (option != words.end() && (names_command || option == words.begin())) {
    return UnknownOption(app, *option);
  }
  if (!names_command && !words.empty()) return UnknownCommand(app, words.front());
  return fmt::format("unexpected argument \"{}\"", words.empty() ? "" : words.front());
}

}  // namespace evenkeel::cli
