// Tables that leave out columns rather than cut names.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_FITTING_TABLE_H_
#define EVENKEEL_CLIENT_CLI_RENDER_FITTING_TABLE_H_

#include <string>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/base/text.h"

namespace evenkeel::cli {

class FittingTable {
 public:
  struct Column {
    std::string heading;
    Align align = Align::kRight;
    int leave_out = 0;  // 0: never left out; others are left out in this order, 1 first
    bool wrap = false;  // cells are broken at blanks where there is some room
  };

  explicit FittingTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row, with a cell for each column.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Returns the table without the columns for which style.width has no room. If it is still too
  // wide, its lines are.
  std::string Render(const Style& style, int indent = 0) const;

  // Returns "Left out, as they need a wider output (--width): aliases, watts.", or "".
  std::string LeftOut(const Style& style, int indent = 0) const;

 private:
  // Returns whether each column is shown, and sets *wrapped to the width of those that wrap.
  std::vector<bool> Shown(const Style& style, int indent, int* wrapped) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_FITTING_TABLE_H_
