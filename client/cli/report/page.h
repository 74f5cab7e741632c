// Pages that hold everything themselves, for screens light and dark and for paper.
#ifndef EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_
#define EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/table.h"

namespace evenkeel::cli {

// Returns the whole page. `style` is what the page needs beyond kPageStyle; `body` is HTML.
std::string HtmlPage(const std::string& title, const std::string& style, const std::string& body);

// Shows one of the key figures at the top. `below` may have several lines. All are plain text.
std::string Tile(const std::string& name, const std::string& value, const std::string& below);

// Frames a chart with its title. `content` is HTML.
std::string Card(const std::string& title, const std::string& content);

// `title` and `lead` are plain text; `content` is HTML.
std::string PageSection(const std::string& title, const std::string& lead,
                        const std::string& content);

// Lists names and texts, all plain.
std::string FactsTable(const std::vector<std::pair<std::string, std::string>>& facts);

// The first cell of a row is its heading. `keys`: a class for each row whose mark stands before its
// heading, or empty for none.
std::string HtmlTable(const TextTable& table, const std::vector<std::string>& keys = {});

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_REPORT_PAGE_H_
