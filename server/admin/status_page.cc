#include "server/admin/status_page.h"

#include <cstddef>

namespace evenkeel::server {

std::vector<StatusRow> NeedsAttention(const StatusPage& page) {
  std::vector<StatusRow> found;
  for (const StatusMark mark : {StatusMark::kBad, StatusMark::kWarning}) {
    for (const StatusSection& section : page.sections) {
      for (const StatusRow& row : section.rows) {
        if (row.mark != mark) continue;
        found.push_back(row);
        found.back().name = section.title + ": " + row.name;
      }
    }
    for (const StatusTable& table : page.tables) {
      for (size_t i = 0; i < table.marks.size(); ++i) {
        if (table.marks[i] != mark || mark != StatusMark::kBad) continue;
        found.push_back({table.title + ": " + table.rows[i][0], table.rows[i][1], "", mark});
      }
    }
  }
  return found;
}

const char* StatusMarkName(StatusMark mark) {
  switch (mark) {
    case StatusMark::kGood:
      return "good";
    case StatusMark::kWarning:
      return "warning";
    case StatusMark::kBad:
      return "bad";
    case StatusMark::kNone:
      break;
  }
  return "";
}

}  // namespace evenkeel::server
