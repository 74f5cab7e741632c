#include "client/cli/render/status.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/base/table.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::json;

// Returns a text of the server. Such texts hold names that callers gave, and none of their escape
// sequences may reach the terminal.
std::string Text(const Style& style, const Json& json) {
  return Plain(style, json.get<std::string>());
}

Tone ToneOf(const Json& mark) {
  if (mark == "good") return Tone::kGood;
  if (mark == "warning") return Tone::kWarn;
  return mark == "bad" ? Tone::kBad : Tone::kPlain;
}

std::string Rows(const Style& style, const Json& rows) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Json& row : rows) {
    std::string value = Paint(style, ToneOf(row.at("mark")), Text(style, row.at("value")));
    const std::string note = Text(style, row.at("note"));
    if (!note.empty()) value += fmt::format(" ({})", note);
    pairs.emplace_back(Text(style, row.at("name")), value);
  }
  return NameValues(style, pairs);
}

std::string OneTable(const Style& style, const Json& json) {
  std::string text = Section(style, Text(style, json.at("title")), Text(style, json.at("note")));
  if (json.at("rows").empty()) return text;
  std::vector<Table::Column> columns;
  for (const Json& column : json.at("columns")) {
    const bool is_number = column.at("number").get<bool>();
    columns.push_back({Text(style, column.at("heading")), is_number ? Align::kRight : Align::kLeft,
                       /*shrink=*/!is_number, 12});
  }
  // A plan's id is shown in full so that it can be copied.
  if (!columns.empty()) columns.front().shrink = false;
  Table table(columns);
  for (const Json& row : json.at("rows")) {
    std::vector<std::string> cells;
    for (const Json& cell : row.at("cells")) cells.push_back(Text(style, cell));
    cells.resize(columns.size());
    table.Add(std::move(cells));
  }
  return text + table.Render(style);
}

}  // namespace

std::string RenderStatus(const Style& style, const std::string& json) {
  try {
    const Json page = Json::parse(json);
    const Json& health = page.at("health");
    std::string text =
        fmt::format("{}  {}\n{}\n", Paint(style, Tone::kBold, Text(style, page.at("title"))),
                    Paint(style, ToneOf(health.at("mark")), Text(style, health.at("value"))),
                    Text(style, page.at("summary")));
    if (!page.at("attention").empty()) {
      text += Section(style, "Needs attention") + Rows(style, page.at("attention"));
    }
    for (const Json& section : page.at("sections")) {
      text += Section(style, Text(style, section.at("title"))) + Rows(style, section.at("rows"));
    }
    for (const Json& table : page.at("tables")) text += OneTable(style, table);
    return text;
  } catch (const Json::exception&) {
    throw CommandError(ExitCode::kError, "the answer is not the status of an evenkeel-server");
  }
}

}  // namespace evenkeel::cli
