// What the status page says, as plain values: gathered in one place (status_sections.h), shown by
// pure functions (render_html.h, render_json.h). A part of the server that has something to say
// adds a section or a table.
#ifndef EVENKEEL_SERVER_ADMIN_STATUS_PAGE_H_
#define EVENKEEL_SERVER_ADMIN_STATUS_PAGE_H_

#include <string>
#include <vector>

namespace evenkeel::server {

// How a value is to be taken: kBad and, in sections, kWarning also go to the top of the page. Marks
// are for what is so now, not for what was once.
enum class StatusMark { kNone, kGood, kWarning, kBad };

// Texts of this file are plain, in UTF-8; those who render escape them.
struct StatusRow {
  std::string name;
  std::string value;
  std::string note;  // what the value means, or what to do; may be empty
  StatusMark mark = StatusMark::kNone;
};

struct StatusSection {
  std::string title;
  std::vector<StatusRow> rows;
};

struct StatusTable {
  struct Column {
    std::string heading;
    bool is_number = false;
  };

  std::string title;
  std::string note;  // below the title; where there are no rows, says why
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns
  // By row: of the mark's colour, or empty where no row has one.
  std::vector<StatusMark> marks;
};

struct StatusPage {
  std::string title;    // "evenkeel-server 1.2.3"
  std::string summary;  // one line: since when, where
  StatusRow health;     // the first thing that one sees; name is not shown
  std::vector<StatusSection> sections;
  std::vector<StatusTable> tables;
};

// The rows that are marked kBad (of tables too), then those of sections that are marked kWarning,
// in the page's order. Their names begin with the title of their section or table.
std::vector<StatusRow> NeedsAttention(const StatusPage& page);

const char* StatusMarkName(StatusMark mark);  // "", "good", "warning", "bad"

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_STATUS_PAGE_H_
