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

}  // namespace evenkeel::cli
