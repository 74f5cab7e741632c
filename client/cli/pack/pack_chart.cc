// Histograms of packs, before and after.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/cli/base/text.h"
#include "client/cli/pack/report_charts.h"
#include "client/cli/report/svg.h"

namespace evenkeel::cli {
namespace {

constexpr double kWidth = 560;
constexpr double kLeft = 10, kRight = 550;
constexpr double kTop = 20;
constexpr double kLabel = 20, kBars = 52, kGap = 12;
constexpr double kAxis = 42;
constexpr int64_t kMostBins = 90;

// A cap above this many times the packs is out of sight: in effect, there is no cap.
constexpr int64_t kCapsInSight = 3;

// Bins of equal width. The width is a real number, so that a bin can end at the cap. The first bin
// includes 0, and each includes its upper end.
struct Axis {
  double width = 1;
  int64_t bins = 1;
  bool single = false;  // one value per bin: labels are below the middle of each

  double X(double place) const { return kLeft + (kRight - kLeft) * place / (width * Bins()); }
  double Bins() const { return static_cast<double>(bins); }
  int64_t BinOf(int64_t value) const {
    if (single) return value;
    const double bin = std::ceil(static_cast<double>(value) / width - 1e-9) - 1;
    return bin < Bins() ? std::max<int64_t>(0, static_cast<int64_t>(bin)) : bins;
  }
};

int64_t Quantile(std::vector<int64_t> values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Returns a number of bins that divides the cap, so that bins hold equally many values, or nearly
// so if there is no such divisor.
int64_t BinsUpTo(int64_t cap) {
  for (int64_t bins = 60; bins >= 24; --bins) {
    if (cap % bins == 0) return bins;
  }
  return 60;
}

// Returns an axis that is wide enough for the cap and nearly all packs, because one giant must not
// squeeze the others.
Axis AxisOf(const std::vector<PackRow>& rows, int64_t cap) {
  int64_t most = 1;
  for (const PackRow& row : rows) most = std::max(most, Quantile(row.values, 0.995));
  const bool capped = cap > 0 && cap <= kCapsInSight * most;
  if (capped) most = std::max(most, cap + cap / 20);
  Axis axis;
  if (most < kMostBins) {
    axis.bins = most + 1;
    axis.single = true;
    return axis;
  }
  const double whole = static_cast<double>(most);
  axis.width = capped ? static_cast<double>(cap) / static_cast<double>(BinsUpTo(cap)) : whole / 60;
  while (whole / axis.width > kMostBins) axis.width *= 2;
  axis.bins = static_cast<int64_t>(std::ceil(whole / axis.width));
  return axis;
}

// Formats an amount. Sums of squares have more digits than people can read.
std::string Amount(double value) { return value < 1e7 ? Significant(value) : BigCount(value); }

std::string StatsText(const PackRow& row, int64_t cap) {
  if (row.values.empty()) return "none";
  const double count = static_cast<double>(row.values.size());
  double mean = 0, variance = 0;
  int64_t over = 0;
  for (const int64_t value : row.values) mean += static_cast<double>(value) / count;
  for (const int64_t value : row.values) {
    const double off = static_cast<double>(value) - mean;
    variance += off * off / count;
    if (cap > 0 && value > cap) ++over;
  }
  std::string text = fmt::format("{} ± {}", Amount(mean), Amount(std::sqrt(variance)));
  if (over > 0)
    text += fmt::format(", {} over the cap", Percent(static_cast<double>(over) / count));
  return text;
}

// Draws the bars of one row, as high as its fullest bin. Returns how many packs are beyond the
// axis.
int64_t DrawBars(Svg* svg, const PackRow& row, const Axis& axis, double floor) {
  std::vector<int64_t> counts(static_cast<size_t>(axis.bins));
  int64_t beyond = 0;
  for (const int64_t value : row.values) {
    const int64_t bin = axis.BinOf(value);
    if (bin < axis.bins) {
      ++counts[static_cast<size_t>(bin)];
    } else {
      ++beyond;
    }
  }
  const double most =
      static_cast<double>(std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end())));
  const double pitch = (kRight - kLeft) / axis.Bins();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double height = std::max(1.0, kBars * static_cast<double>(counts[i]) / most);
    const double gap = pitch > 6 ? 1.5 : pitch > 3 ? 0.6 : 0.0;
    svg->Box("bar " + row.style, kLeft + pitch * static_cast<double>(i) + gap / 2, floor - height,
             pitch - gap, height);
  }
  svg->Line("floor", kLeft, floor, kRight, floor);
  return beyond;
}

void DrawAxis(Svg* svg, const std::string& what, const Axis& axis, double floor) {
  const double end = axis.width * axis.Bins();
  const double shift = axis.single ? 0.5 : 0;
  for (const double tick : RoundTicks(0, end, 8)) {
    if (tick + shift > end || tick != std::floor(tick)) continue;
    const double x = axis.X(tick + shift);
    svg->Line("floor", x, floor, x, floor + 4);
    const std::string anchor = x < kLeft + 8 ? "start" : x > kRight - 16 ? "end" : "middle";
    svg->Text("tick", x, floor + 17, anchor,
              tick < 1e7 ? Integer(static_cast<int64_t>(tick)) : BigCount(tick));
  }
  svg->Text("axis", (kLeft + kRight) / 2, floor + 36, "middle", what + " per micro-batch");
}

}  // namespace

std::string PackChart(const std::string& what, const std::vector<PackRow>& rows, int64_t cap) {
  const Axis axis = AxisOf(rows, cap);
  const double pitch = kLabel + kBars + kGap;
  const double height = kTop + pitch * static_cast<double>(rows.size()) - kGap + kAxis;
  Svg svg(kWidth, height, what + " per micro-batch, before and after");
  // The cap itself is still within the bin.
  const double cap_place = static_cast<double>(cap) + (axis.single ? 1 : 0);
  const bool capped = cap > 0 && cap_place < axis.width * axis.Bins();
  const double cap_x = axis.X(cap_place);
  double floor = kTop;
  for (const PackRow& row : rows) {
    floor += kLabel + kBars;
    const int64_t beyond = DrawBars(&svg, row, axis, floor);
    if (capped) svg.Line("cap", cap_x, floor - kBars - 2, cap_x, floor);
    svg.Text("name " + row.style, kLeft, floor - kBars - 7, "start", row.name);
    std::string stats = StatsText(row, cap);
    if (beyond > 0) stats += fmt::format(", {} beyond the axis", Integer(beyond));
    svg.Text("tick", kRight, floor - kBars - 7, "end", stats);
    if (&row != &rows.back()) floor += kGap;
  }
  if (capped) {
    const bool right = cap_x > kRight - 40;
    svg.Text("tick cap-text", right ? kRight : cap_x, 12, right ? "end" : "middle",
             "cap " + Integer(cap));
  }
  DrawAxis(&svg, what, axis, floor);
  return svg.Finish();
}

}  // namespace evenkeel::cli
