// Tables in plain text: columns as wide as their widest cell, two blanks apart, a rule below the
// heading.
#ifndef EVENKEEL_CLIENT_CLI_TABLE_H_
#define EVENKEEL_CLIENT_CLI_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/text.h"

namespace evenkeel::cli {

enum class Align { kLeft, kRight };

// A table as text alone. As many cells in each row as headings.
struct TextTable {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};

class Table {
 public:
  struct Column {
    std::string heading;
    Align align = Align::kRight;
    bool shrink = false;  // cells may be shortened where the table is too wide (they hold no escape
                          // sequences then)
    int min_width = 8;    // but not below this
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Columns without a heading are left-aligned.
  explicit Table(TextTable text);

  // As many cells as columns. A cell may have several lines, unless its column shrinks.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // Whole lines, each after `indent` blanks and without blanks at the end.
  std::string Render(const Style& style, int indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the heading of a section, with an empty line before it.
std::string Section(const Style& style, const std::string& title, const std::string& remark = "");

// Wraps text after `indent` blanks.
std::string Paragraph(const Style& style, const std::string& text, int indent = 2);

// Returns "name   value" with wrapped value, as whole lines.
std::string NameValues(const Style& style,
                       const std::vector<std::pair<std::string, std::string>>& pairs,
                       int indent = 2);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TABLE_H_
