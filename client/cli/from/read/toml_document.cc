#include <fmt/format.h>

#define TOML_ENABLE_FORMATTERS 1
#include <toml++/toml.h>

#include <sstream>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"

namespace evenkeel::cli {
namespace {

std::string TomlText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

void TomlLeaves(const toml::table& table, const std::string& path, const std::string& name,
                std::vector<Setting>* settings) {
  for (const auto& [key, node] : table) {
    const std::string inner =
        path.empty() ? std::string(key.str()) : path + "." + std::string(key.str());
    const std::string where = fmt::format("{}:{}", name, node.source().begin.line);
    if (const toml::table* section = node.as_table()) {
      TomlLeaves(*section, inner, name, settings);
    } else if (const toml::array* list = node.as_array()) {
      Setting setting{.key = inner, .where = where};
      for (const toml::node& item : *list) setting.values.push_back(TomlText(item));
      settings->push_back(std::move(setting));
    } else {
      settings->push_back({inner, {TomlText(node)}, where});
    }
  }
}

}  // namespace

std::vector<Setting> ReadToml(const std::string& text, const std::string& name) {
  std::vector<Setting> settings;
  try {
    const toml::table table = toml::parse(text, name);
    TomlLeaves(table, "", name, &settings);
  } catch (const toml::parse_error& error) {
    throw CommandError(
        ExitCode::kBadInput,
        fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
  return settings;
}

}  // namespace evenkeel::cli
