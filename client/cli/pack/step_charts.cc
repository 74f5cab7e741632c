// Charts of the imbalance of steps: over the epoch, and as a distribution.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/cli/base/text.h"
#include "client/cli/pack/report_charts.h"
#include "client/cli/report/svg.h"

namespace evenkeel::cli {
namespace {

constexpr double kWidth = 560, kHeight = 230;
constexpr double kLeft = 52, kRight = 546, kTop = 12, kFloor = 186;
constexpr size_t kPlaces = 80;  // number of places across the chart
constexpr size_t kDotsBelow = 40;

// Ratios below the first decade are drawn at its start.
constexpr int kFirstDecade = -5;

double At(double share) { return kLeft + (kRight - kLeft) * share; }

std::string ShareText(double share) { return fmt::format("{:.4g}%", share * 100); }

void DrawFrame(Svg* svg, const std::string& below, const std::string& beside) {
  svg->Line("floor", kLeft, kFloor, kRight, kFloor);
  svg->Text("axis", (kLeft + kRight) / 2, kHeight - 6, "middle", below);
  svg->Text("axis", 4, kTop - 1, "start", beside);
}

// Least, mean and most of the steps that share a place.
struct Place {
  double x = 0, least = 1, mean = 0, most = 0;
};

std::vector<Place> PlacesOf(const std::vector<double>& ratios) {
  const size_t count = std::min(kPlaces, ratios.size());
  std::vector<Place> places(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t first = ratios.size() * i / count, end = ratios.size() * (i + 1) / count;
    for (size_t s = first; s < end; ++s) {
      places[i].least = std::min(places[i].least, ratios[s]);
      places[i].most = std::max(places[i].most, ratios[s]);
      places[i].mean += ratios[s] / static_cast<double>(end - first);
    }
    places[i].x = At((static_cast<double>(i) + 0.5) / static_cast<double>(count));
  }
  return places;
}

}  // namespace

std::string StepChart(const std::string& what, const std::vector<StepRow>& rows) {
  Svg svg(kWidth, kHeight, what + ": imbalance of each step over the epoch");
  double most = 0;
  for (const StepRow& row : rows) {
    for (const Place& place : PlacesOf(*row.ratios)) most = std::max(most, place.most);
  }
  const std::vector<double> ticks = RoundTicks(0, std::max(most, 1e-4), 4);
  const double top = kTop + 12;
  const auto y = [&](double ratio) { return kFloor - (kFloor - top) * ratio / ticks.back(); };
  for (const double tick : ticks) {
    if (tick > 0) svg.Line("grid", kLeft, y(tick), kRight, y(tick));
    svg.Text("tick", kLeft - 6, y(tick) + 4, "end", ShareText(tick));
  }
  for (const StepRow& row : rows) {
    const std::vector<Place> places = PlacesOf(*row.ratios);
    Svg::Points band, line;
    for (const Place& place : places) {
      band.emplace_back(place.x, y(place.most));
      line.emplace_back(place.x, y(place.mean));
    }
    for (size_t i = places.size(); i-- > 0;) band.emplace_back(places[i].x, y(places[i].least));
    if (row.ratios->size() > places.size()) svg.Area("band " + row.style, band);
    svg.Path("line " + row.style, line);
    if (places.size() >= kDotsBelow) continue;
    for (const auto& [x, mean] : line) svg.Dot("dot " + row.style, x, mean, 2.5);
  }
  for (const int percent : {0, 25, 50, 75, 100}) {
    const std::string anchor = percent == 100 ? "end" : "middle";
    svg.Text("tick", At(percent / 100.0), kFloor + 17, anchor, fmt::format("{}%", percent));
  }
  DrawFrame(&svg, "steps of the epoch", "waiting, " + what);
  return svg.Finish();
}

std::string ShareChart(const std::string& what, const std::vector<StepRow>& rows) {
  Svg svg(kWidth, kHeight, what + ": how many steps are how imbalanced");
  const double top = kTop + 12;
  const auto y = [&](double share) { return kFloor - (kFloor - top) * share; };
  const auto x = [](double ratio) {
    const double decade =
        ratio > 0 ? std::max<double>(kFirstDecade, std::log10(ratio)) : kFirstDecade;
    return At(1 - decade / kFirstDecade);
  };
  for (const int percent : {0, 25, 50, 75, 100}) {
    if (percent > 0) svg.Line("grid", kLeft, y(percent / 100.0), kRight, y(percent / 100.0));
    svg.Text("tick", kLeft - 6, y(percent / 100.0) + 4, "end", fmt::format("{}%", percent));
  }
  for (int decade = kFirstDecade; decade <= 0; ++decade) {
    const double value = std::pow(10.0, decade);
    svg.Line("grid", x(value), top, x(value), kFloor);
    const std::string text = fmt::format("{:g}%", value * 100);
    svg.Text("tick", x(value), kFloor + 17, decade == 0 ? "end" : "middle",
             decade == kFirstDecade ? "≤" + text : text);
  }
  for (const StepRow& row : rows) {
    std::vector<double> sorted = *row.ratios;
    if (sorted.empty()) continue;
    std::sort(sorted.begin(), sorted.end());
    const size_t count = std::min<size_t>(200, sorted.size());
    Svg::Points line = {{x(sorted.front()), y(0)}};
    for (size_t i = 1; i <= count; ++i) {
      const size_t at = sorted.size() * i / count - 1;
      const double share = static_cast<double>(at + 1) / static_cast<double>(sorted.size());
      line.emplace_back(x(sorted[at]), line.back().second);
      line.emplace_back(x(sorted[at]), y(share));
    }
    line.emplace_back(kRight, y(1));
    svg.Path("line " + row.style, line);
  }
  DrawFrame(&svg, "waiting, " + what + " (logarithmic)", "share of steps");
  return svg.Finish();
}

}  // namespace evenkeel::cli
