#include "server/admin/render_json.h"

#include <nlohmann/json.hpp>

#include "server/base/visible_text.h"

namespace evenkeel::server {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const StatusRow& row) {
  return {{"name", row.name},
          {"value", row.value},
          {"note", row.note},
          {"mark", StatusMarkName(row.mark)}};
}

Json ToJson(const std::vector<StatusRow>& rows) {
  Json json = Json::array();
  for (const StatusRow& row : rows) json.push_back(ToJson(row));
  return json;
}

Json ToJson(const StatusTable& table) {
  Json columns = Json::array();
  for (const auto& column : table.columns) {
    columns.push_back({{"heading", column.heading}, {"number", column.is_number}});
  }
  Json rows = Json::array();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const StatusMark mark = i < table.marks.size() ? table.marks[i] : StatusMark::kNone;
    rows.push_back({{"mark", StatusMarkName(mark)}, {"cells", table.rows[i]}});
  }
  return {{"title", table.title}, {"note", table.note}, {"columns", columns}, {"rows", rows}};
}

}  // namespace

std::string RenderJson(const StatusPage& page) {
  Json json = {{"title", page.title},           {"summary", page.summary},
               {"health", ToJson(page.health)}, {"attention", ToJson(NeedsAttention(page))},
               {"sections", Json::array()},     {"tables", Json::array()}};
  for (const StatusSection& section : page.sections) {
    json["sections"].push_back({{"title", section.title}, {"rows", ToJson(section.rows)}});
  }
  for (const StatusTable& table : page.tables) json["tables"].push_back(ToJson(table));
  return Visible(json.dump(2, ' ', false, Json::error_handler_t::replace), "\n") + "\n";
}

}  // namespace evenkeel::server
