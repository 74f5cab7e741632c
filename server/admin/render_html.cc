#include "server/admin/render_html.h"

#include <absl/strings/str_replace.h>

#include "server/admin/status_style.h"
#include "server/base/visible_text.h"

namespace evenkeel::server {
namespace {

std::string Element(const std::string& tag, StatusMark mark, std::string_view text) {
  const std::string name = StatusMarkName(mark);
  const std::string open = name.empty() ? tag : tag + " class=\"" + name + "\"";
  return "<" + open + ">" + EscapeHtml(text) + "</" + tag + ">";
}

std::string Row(const StatusRow& row) {
  std::string html = "<tr>" + Element("th", StatusMark::kNone, row.name) + "<td>" +
                     Element("span", row.mark, row.value);
  if (!row.note.empty()) html += " " + Element("small", StatusMark::kNone, row.note);
  return html + "</td></tr>\n";
}

std::string Attention(const StatusPage& page) {
  const std::vector<StatusRow> rows = NeedsAttention(page);
  if (rows.empty()) return {};
  std::string html = "<section class=\"attention\">\n<h2>Needs attention</h2>\n<table>\n";
  for (const StatusRow& row : rows) html += Row(row);
  return html + "</table>\n</section>\n";
}

std::string Section(const StatusSection& section) {
  std::string html =
      "<section>\n" + Element("h2", StatusMark::kNone, section.title) + "\n<table>\n";
  for (const StatusRow& row : section.rows) html += Row(row);
  return html + "</table>\n</section>\n";
}

std::string Cell(const char* tag, const StatusTable::Column& column, std::string_view text) {
  const std::string open = column.is_number ? std::string(tag) + " class=\"number\"" : tag;
  return "<" + open + ">" + EscapeHtml(text) + "</" + tag + ">";
}

std::string Table(const StatusTable& table) {
  std::string html =
      "<section class=\"wide\">\n" + Element("h2", StatusMark::kNone, table.title) + "\n";
  if (!table.note.empty()) html += Element("p", StatusMark::kNone, table.note) + "\n";
  if (table.rows.empty()) return html + "</section>\n";
  html += "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const auto& column : table.columns) html += Cell("th", column, column.heading);
  html += "</tr></thead>\n<tbody>\n";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::string mark = i < table.marks.size() ? StatusMarkName(table.marks[i]) : "";
    html += mark.empty() ? "<tr>" : "<tr class=\"" + mark + "\">";
    for (size_t j = 0; j < table.columns.size(); ++j) {
      html += Cell("td", table.columns[j], table.rows[i][j]);
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n</section>\n";
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  return absl::StrReplaceAll(
      Visible(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string RenderHtml(const StatusPage& page) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
      Element("title", StatusMark::kNone, page.title) + "\n<style>" + kStatusStyle +
      "</style>\n</head>\n<body>\n<header>\n" + Element("h1", StatusMark::kNone, page.title) +
      "\n" + Element("strong", page.health.mark, page.health.value) + "\n" +
      Element("p", StatusMark::kNone, page.summary) + "\n";
  if (!page.health.note.empty()) html += Element("p", StatusMark::kNone, page.health.note) + "\n";
  html += "</header>\n<main>\n" + Attention(page) + "<div class=\"sections\">\n";
  for (const StatusSection& section : page.sections) html += Section(section);
  html += "</div>\n";
  for (const StatusTable& table : page.tables) html += Table(table);
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace evenkeel::server
