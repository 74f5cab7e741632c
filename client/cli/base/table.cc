#include "client/cli/base/table.h"

#include <algorithm>

namespace evenkeel::cli {
namespace {

constexpr int kGap = 2;

std::string Blanks(int count) { return std::string(static_cast<size_t>(std::max(0, count)), ' '); }

std::vector<std::string> Lines(const std::string& cell) {
  std::vector<std::string> lines;
  size_t start = 0;
  for (size_t end = cell.find('\n'); end != std::string::npos; end = cell.find('\n', start)) {
    lines.push_back(cell.substr(start, end - start));
    start = end + 1;
  }
  lines.push_back(cell.substr(start));
  return lines;
}

std::string Trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

Table::Table(TextTable text) : rows_(std::move(text.rows)) {
  for (std::string& heading : text.headings) {
    const Align align = heading.empty() ? Align::kLeft : Align::kRight;
    columns_.push_back({std::move(heading), align});
  }
}

std::string Table::Render(const Style& style, int indent) const {
  std::vector<int> widths;
  int total = indent - kGap;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int width = DisplayWidth(columns_[c].heading);
    for (const auto& row : rows_) {
      for (const std::string& cell : Lines(row[c])) width = std::max(width, DisplayWidth(cell));
    }
    widths.push_back(width);
    total += width + kGap;
  }
  for (size_t c = columns_.size(); c-- > 0 && total > style.width;) {
    if (!columns_[c].shrink) continue;
    const int less = std::max(0, std::min(total - style.width, widths[c] - columns_[c].min_width));
    widths[c] -= less;
    total -= less;
  }
  const auto line = [&](const std::vector<std::string>& cells, Tone tone) {
    std::string text = Blanks(indent);
    for (size_t c = 0; c < columns_.size(); ++c) {
      const bool shorten = columns_[c].shrink && !columns_[c].fold;
      const std::string cell = shorten ? Shorten(style, cells[c], widths[c]) : cells[c];
      const std::string padded =
          columns_[c].align == Align::kLeft ? PadRight(cell, widths[c]) : PadLeft(cell, widths[c]);
      text += (c == 0 ? "" : Blanks(kGap)) + Paint(style, tone, padded);
    }
    return Trimmed(text);
  };
  std::vector<std::string> headings, rules;
  for (size_t c = 0; c < columns_.size(); ++c) {
    headings.push_back(columns_[c].heading);
    std::string rule;
    for (int i = 0; i < widths[c]; ++i) rule += style.unicode ? "─" : "-";
    rules.push_back(rule);
  }
  std::string text = line(headings, Tone::kPlain);
  text += line(rules, Tone::kDim);
  for (const auto& row : rows_) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (size_t c = 0; c < row.size(); ++c) {
      cells.push_back(columns_[c].fold ? Fold(row[c], widths[c]) : Lines(row[c]));
      height = std::max(height, cells.back().size());
    }
    for (size_t i = 0; i < height; ++i) {
      std::vector<std::string> parts;
      for (const auto& lines : cells) parts.push_back(i < lines.size() ? lines[i] : "");
      text += line(parts, Tone::kPlain);
    }
  }
  return text;
}

std::string Section(const Style& style, const std::string& title, const std::string& remark) {
  return "\n" + Paint(style, Tone::kBold, title) +
         (remark.empty() ? "" : Paint(style, Tone::kDim, "  " + remark)) + "\n";
}

std::string Paragraph(const Style& style, const std::string& text, int indent) {
  std::string result;
  for (const std::string& line : Wrap(text, style.width - indent)) {
    result += Trimmed(Blanks(indent) + line);
  }
  return result;
}

std::string NameValues(const Style& style,
                       const std::vector<std::pair<std::string, std::string>>& pairs, int indent) {
  int width = 0;
  for (const auto& [name, value] : pairs) width = std::max(width, DisplayWidth(name));
  std::string result;
  for (const auto& [name, value] : pairs) {
    std::string label = Paint(style, Tone::kDim, PadRight(name, width));
    for (const std::string& line : Wrap(value, style.width - indent - width - kGap)) {
      result += Trimmed(Blanks(indent) + label + Blanks(kGap) + line);
      label = Blanks(width);
    }
  }
  return result;
}

}  // namespace evenkeel::cli
