// Self-contained HTML pages, for light and dark screens and for paper.
#ifndef EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_
#define EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"

namespace evenkeel::cli {

// Returns the whole page. `style` is the page's style in addition to kPageStyle; `body` is HTML.
std::string HtmlPage(const std::string& title, const std::string& style, const std::string& body);

// Shows one of the key figures at the top. `below` may have several lines. All are plain text.
std::string Tile(const std::string& name, const std::string& value, const std::string& below);

// Frames a chart with its title. `content` is HTML.
std::string Card(const std::string& title, const std::string& content);

// Makes a section. `title` and `lead` are plain text; `content` is HTML.
std::string PageSection(const std::string& title, const std::string& lead,
                        const std::string& content);

// Lists names and texts, all plain.
std::string FactsTable(const std::vector<std::pair<std::string, std::string>>& facts);

// Makes a table. The first cell of a row is its heading. `keys` has, for each row, the class of the
// mark before its heading; it is empty if there are no marks.
std::string HtmlTable(const TextTable& table, const std::vector<std::string>& keys = {});

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_
