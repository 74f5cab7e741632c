#include "client/cli/render/fitting_table.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace evenkeel::cli {
namespace {

constexpr int kColumnGap = 2;
constexpr int kLeastWrapped = 24;  // a narrower column that wraps is left out

}  // namespace

std::vector<bool> FittingTable::Shown(const Style& style, int indent, int* wrapped) const {
  std::vector<int> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int width = DisplayWidth(columns_[c].heading);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[c]));
    widths.push_back(width);
  }
  std::vector<bool> shown(columns_.size(), true);
  const auto left = [&](bool with_wrapped) {
    int room = style.width - indent + kColumnGap;
    for (size_t c = 0; c < columns_.size(); ++c)
      if (shown[c] && (with_wrapped || !columns_[c].wrap)) room -= widths[c] + kColumnGap;
    return room;
  };
  int last = 0;
  for (const Column& column : columns_) last = std::max(last, column.leave_out);
  *wrapped = 0;
  for (int order = 1; order <= last && left(true) < 0; ++order) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].leave_out != order) continue;
      const int room = left(false) - kColumnGap;
      if (columns_[c].wrap && room >= kLeastWrapped) {
        *wrapped = room;
        return shown;
      }
      shown[c] = false;
    }
  }
  return shown;
}

std::string FittingTable::Render(const Style& style, int indent) const {
  int wrapped = 0;
  const std::vector<bool> shown = Shown(style, indent, &wrapped);
  std::vector<Table::Column> columns;
  for (size_t c = 0; c < columns_.size(); ++c)
    if (shown[c]) columns.push_back({columns_[c].heading, columns_[c].align});
  Table table(std::move(columns));
  for (const auto& row : rows_) {
    std::vector<std::string> cells;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (!shown[c]) continue;
      cells.push_back(columns_[c].wrap && wrapped > 0 ? absl::StrJoin(Wrap(row[c], wrapped), "\n")
                                                      : row[c]);
    }
    table.Add(std::move(cells));
  }
  return table.Render(style, indent);
}

std::string FittingTable::LeftOut(const Style& style, int indent) const {
  int wrapped = 0;
  const std::vector<bool> shown = Shown(style, indent, &wrapped);
  std::vector<std::string> names;
  for (size_t c = 0; c < columns_.size(); ++c)
    if (!shown[c] && !columns_[c].heading.empty()) names.push_back(columns_[c].heading);
  if (names.empty()) return "";
  return fmt::format("Left out for lack of room (--width): {}.", absl::StrJoin(names, ", "));
}

}  // namespace evenkeel::cli
