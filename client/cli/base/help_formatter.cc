#include "client/cli/base/help_formatter.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

#include "client/cli/base/text.h"

namespace evenkeel::cli {
namespace {

constexpr int kNameColumns = 36;        // of an option and its value
constexpr int kNarrowNameColumns = 24;  // of an option and its value, on a narrow terminal
constexpr int kNarrow = 80;

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::function<int()> width) : width_(std::move(width)) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return Entry(make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return Entry(command->get_display_name(true), command->get_description());
  }
  std::string make_description(const CLI::App* command) const override {
    return Wrapped(CLI::Formatter::make_description(command));
  }
  std::string make_footer(const CLI::App* command) const override {
    return Wrapped(CLI::Formatter::make_footer(command));
  }

 private:
  std::string Entry(const std::string& name, const std::string& description) const {
    const int width = width_();
    const int column = width <= kNarrow ? kNarrowNameColumns : kNameColumns;
    const std::string indent(static_cast<size_t>(column), ' ');
    std::string text = "  " + name;
    const bool beside = static_cast<int>(text.size()) < column;
    text = beside ? PadRight(text, column) : text + "\n" + indent;
    bool first = true;
    for (const std::string& line : Wrap(description, width - column)) {
      if (!first) text += "\n" + indent;
      text += line;
      first = false;
    }
    return text.substr(0, text.find_last_not_of(" \n") + 1) + "\n";
  }

  // Wraps lines that are too long under the words of their beginning. Commands stay whole, so that
  // they can be copied.
  std::string Wrapped(const std::string& text) const {
    const int width = width_();
    std::istringstream lines(text);
    std::string wrapped, line;
    while (std::getline(lines, line)) {
      const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
      const bool command = blanks > 0 && line.compare(blanks, 12, "evenkeelctl ") == 0;
      if (command || DisplayWidth(line) <= width) {
        wrapped += line + "\n";
        continue;
      }
      const std::string indent(blanks, ' ');
      for (const std::string& part : Wrap(line.substr(blanks), width - static_cast<int>(blanks)))
        wrapped += indent + part + "\n";
    }
    return wrapped;
  }

  const std::function<int()> width_;
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter(std::function<int()> width) {
  return std::make_shared<HelpFormatter>(std::move(width));
}

}  // namespace evenkeel::cli
