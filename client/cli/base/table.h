// Tables in plain text: columns as wide as their widest cell, two blanks apart, a rule below the
// heading.
#ifndef EVENKEEL_CLIENT_CLI_BASE_TABLE_H_
#define EVENKEEL_CLIENT_CLI_BASE_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/text.h"

namespace evenkeel::cli {

enum class Align { kLeft, kRight };

// A table as text only. Each row has a cell for each heading.
struct TextTable {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};

class Table {
 public:
  struct Column {
    std::string heading;
    Align align = Align::kRight;
    bool shrink = false;  // Cells may be shortened if the table is too wide. They then hold no
                          // escape sequences.
    int min_width = 8;    // but not below this width
    bool fold = false;    // Cells are broken into lines instead of shortened.
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Columns without a heading are left-aligned.
  explicit Table(TextTable text);

  // Adds a row, with a cell for each column. A cell may have several lines, unless its column
  // shrinks.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // Returns whole lines, each indented by `indent` blanks and without trailing blanks.
  std::string Render(const Style& style, int indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the heading of a section, with an empty line before it.
std::string Section(const Style& style, const std::string& title, const std::string& remark = "");

// Wraps text, indented by `indent` blanks.
std::string Paragraph(const Style& style, const std::string& text, int indent = 2);

// Returns "name   value" with the value wrapped, as whole lines.
std::string NameValues(const Style& style,
                       const std::vector<std::pair<std::string, std::string>>& pairs,
                       int indent = 2);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_TABLE_H_
