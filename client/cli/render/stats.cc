#include "client/cli/render/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "client/cli/base/table.h"
#include "client/cli/render/words.h"

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

std::string RenderStats(const Style& style, const std::vector<LengthCount>& sorted, size_t encoders,
                        const BinnedHistogram& binned, size_t files) {
  const std::vector<double> percentiles = {1, 10, 25, 50, 75, 90, 99};
  std::vector<std::map<int64_t, int64_t>> units(encoders);
  std::map<int64_t, int64_t> tokens;
  int64_t samples = 0;
  for (const LengthCount& bin : sorted) {
    for (size_t e = 0; e < encoders; ++e) units[e][bin.units[e]] += bin.count;
    tokens[bin.tokens] += bin.count;
    samples += bin.count;
  }
  const auto has_units = [&](size_t e) { return units[e].rbegin()->first > 0; };
  const auto name_of = [&](size_t e) {
    return encoders > 1 ? fmt::format("units of encoder {}", e + 1) : std::string("units");
  };
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
  for (size_t e = 0; e < encoders; ++e)
    if (has_units(e)) add(name_of(e), SummarizeUnits(sorted, percentiles, e));

  std::string text = Paint(style, Tone::kBold,
                           fmt::format("{} in {}", Counted(samples, "sample"),
                                       Counted(static_cast<int64_t>(files), "file"))) +
                     "\n\n" + table.Render(style);
  for (size_t e = 0; e < encoders; ++e)
    if (has_units(e)) text += Bars(style, name_of(e), units[e], samples);
  text += Bars(style, "tokens", tokens, samples);
  return text + "\n" + NameValues(style, {{"histogram", binned.Describe()}});
}

}  // namespace evenkeel::cli
