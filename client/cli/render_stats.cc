#include "client/cli/render_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "client/cli/table.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMostRows = 20;

// Returns the least of 1, 2, 5, 10, 20, ... with which there are at most kMostRows rows.
int64_t RangeWidth(int64_t least, int64_t most) {
  for (int64_t width = 1;; width *= 10) {
    for (const int64_t step : {width, 2 * width, 5 * width}) {
      if (most / step - least / step < static_cast<int64_t>(kMostRows)) return step;
    }
  }
}

// Counts samples by value, in ranges of one width if there are many values.
std::string Bars(const Style& style, const std::string& title,
                 const std::map<int64_t, int64_t>& counts, int64_t samples) {
  const int64_t width = RangeWidth(counts.begin()->first, counts.rbegin()->first);
  std::map<int64_t, int64_t> ranges;
  for (int64_t r = counts.begin()->first / width; r <= counts.rbegin()->first / width; ++r) {
    ranges[r] = 0;
  }
  for (const auto& [value, count] : counts) ranges[value / width] += count;
  int64_t most = 0;
  for (const auto& [range, count] : ranges) most = std::max(most, count);
  Table table({{title}, {"samples"}, {"share"}, {"", Align::kLeft}});
  const int bar_width = std::max(10, style.width - 50);
  for (const auto& [range, count] : ranges) {
    const std::string name = width == 1 ? Integer(range)
                                        : fmt::format("{} to {}", Integer(range * width),
                                                      Integer((range + 1) * width - 1));
    table.Add({name, Integer(count),
               Percent(static_cast<double>(count) / static_cast<double>(samples)),
               Bar(style, static_cast<double>(count) / static_cast<double>(most), bar_width)});
  }
  return "\n" + table.Render(style);
}

}  // namespace

std::string RenderStats(const Style& style, const std::vector<LengthCount>& sorted,
                        const BinnedHistogram& binned, size_t files) {
  const std::vector<double> percentiles = {1, 10, 25, 50, 75, 90, 99};
  std::map<int64_t, int64_t> units, tokens;
  int64_t samples = 0;
  for (const LengthCount& bin : sorted) {
    units[bin.units] += bin.count;
    tokens[bin.tokens] += bin.count;
    samples += bin.count;
  }
  const bool has_units = units.rbegin()->first > 0;
  std::vector<Table::Column> columns = {{"", Align::kLeft}, {"mean"}, {"min"}};
  for (const double percent : percentiles) columns.push_back({fmt::format("p{}", percent)});
  columns.push_back({"max"});
  Table table(columns);
  const auto add = [&](const std::string& name, const LengthSummary& summary) {
    std::vector<std::string> cells = {name, Decimal(summary.mean, 2), Integer(summary.min)};
    for (const int64_t value : summary.percentiles) cells.push_back(Integer(value));
    cells.push_back(Integer(summary.max));
    table.Add(cells);
  };
  add("tokens", SummarizeTokens(sorted, percentiles));
  if (has_units) add("units", SummarizeUnits(sorted, percentiles));

  std::string text = Paint(style, Tone::kBold,
                           fmt::format("{} samples in {} file{}", Integer(samples), files,
                                       files == 1 ? "" : "s")) +
                     "\n\n" + table.Render(style);
  if (has_units) text += Bars(style, "units", units, samples);
  text += Bars(style, "tokens", tokens, samples);
  return text + "\n" + NameValues(style, {{"histogram", binned.Describe()}});
}

}  // namespace evenkeel::cli
