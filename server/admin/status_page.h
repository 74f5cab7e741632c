// The content of the status page as plain values. status_sections.h gathers them in one place, and
// pure functions (render_html.h, render_json.h) show them. A part of the server that has something
// to report adds a section or a table.
#ifndef EVENKEEL_SERVER_ADMIN_STATUS_PAGE_H_
#define EVENKEEL_SERVER_ADMIN_STATUS_PAGE_H_

#include <string>
#include <vector>

namespace evenkeel::server {

// How good a value is. Rows with kBad and, in sections, kWarning also appear at the top of the
// page. Marks describe the present state, not past events.
enum class StatusMark { kNone, kGood, kWarning, kBad };

// Texts in this file are plain UTF-8; the renderers escape them.
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
  std::string note;  // below the title; if there are no rows, says why
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns
  // The mark that colours each row. Empty if no row is coloured.
  std::vector<StatusMark> marks;
};

struct StatusPage {
  std::string title;    // "evenkeel-server 1.2.3"
  std::string summary;  // one line: the time and the uptime
  StatusRow health;     // shown first, without its name
  std::vector<StatusSection> sections;
  std::vector<StatusTable> tables;
};

// Returns the rows marked kBad (including those of tables), then the rows of sections marked
// kWarning, in the page's order. Their names begin with the title of their section or table.
std::vector<StatusRow> NeedsAttention(const StatusPage& page);

const char* StatusMarkName(StatusMark mark);  // "", "good", "warning", "bad"

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_STATUS_PAGE_H_
