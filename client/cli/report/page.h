// Pages that hold everything themselves, for screens light and dark and for paper.
#ifndef EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_
#define EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_

#include <string>

namespace evenkeel::cli {

// The whole page. `style`: what the page needs beyond kPageStyle. `body`: HTML.
std::string HtmlPage(const std::string& title, const std::string& style, const std::string& body);

// A figure among the first that one sees. `below` may have several lines. All are plain text.
std::string Tile(const std::string& name, const std::string& value, const std::string& below);

// A chart with its title. `content`: HTML.
std::string Card(const std::string& title, const std::string& content);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_
