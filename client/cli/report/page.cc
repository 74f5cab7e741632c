#include "client/cli/report/page.h"

#include <fmt/format.h>

#include "client/cli/report/page_style.h"
#include "client/cli/report/svg.h"

namespace evenkeel::cli {

std::string HtmlPage(const std::string& title, const std::string& style, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n"
      "</html>\n",
      Escaped(title), kPageStyle, style, body);
}

std::string Tile(const std::string& name, const std::string& value, const std::string& below) {
  return fmt::format(
      "<div class=\"tile\"><div class=\"what\">{}</div><div class=\"figure\">{}</div>"
      "<div class=\"below\">{}</div></div>\n",
      Escaped(name), Escaped(value), Escaped(below));
}

std::string Card(const std::string& title, const std::string& content) {
  return fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n", Escaped(title), content);
}

std::string PageSection(const std::string& title, const std::string& lead,
                        const std::string& content) {
  return fmt::format("<section>\n<h2>{}</h2>\n<p class=\"lead\">{}</p>\n{}</section>\n",
                     Escaped(title), Escaped(lead), content);
}

std::string FactsTable(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string rows;
  for (const auto& [name, text] : facts) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td></tr>\n",
                        Escaped(name), Escaped(text));
  }
  return "<div class=\"scroll facts-card\"><table class=\"facts\">\n<tbody>\n" + rows +
         "</tbody>\n</table></div>\n";
}

std::string HtmlTable(const TextTable& table, const std::vector<std::string>& keys) {
  std::string text = "<div class=\"scroll\"><table>\n<thead>\n<tr>";
  for (const std::string& heading : table.headings)
    text += "<th scope=\"col\">" + Escaped(heading) + "</th>";
  text += "</tr>\n</thead>\n<tbody>\n";
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<std::string>& cells = table.rows[r];
    text += "<tr><th scope=\"row\">";
    text += keys.empty()
                ? Escaped(cells[0])
                : fmt::format("<span class=\"key {}\">{}</span>", keys[r], Escaped(cells[0]));
    text += "</th>";
    for (size_t c = 1; c < cells.size(); ++c) text += "<td>" + Escaped(cells[c]) + "</td>";
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table></div>\n";
}

}  // namespace evenkeel::cli
