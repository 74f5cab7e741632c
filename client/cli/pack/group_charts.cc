#include "client/cli/pack/group_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/cli/base/text.h"
#include "client/cli/report/svg.h"

namespace evenkeel::cli {
namespace {

constexpr double kWidth = 1120, kHeight = 330;
constexpr double kLeft = 60, kRight = 1106;
constexpr double kTop = 30, kFloor = 210;
constexpr double kStripTop = 226, kStripFloor = 274;
constexpr size_t kMostDots = 3000;
constexpr size_t kMostPlaces = 200;  // places of the strip
constexpr size_t kStyles = 8;

// Ratios below the first decade are drawn at its start.
constexpr int kFirstDecade = -5;

double X(double share) { return kLeft + (kRight - kLeft) * share; }

double LogY(double decade) {
  return kTop + (kFloor - kTop) * std::max<double>(kFirstDecade, decade) / kFirstDecade;
}

double Y(double ratio) { return LogY(ratio > 0 ? std::log10(ratio) : kFirstDecade); }

class Chart {
 public:
  explicit Chart(const GroupedSteps& steps)
      : steps_(steps),
        count_(std::max<size_t>(1, steps.step_group->size())),
        svg_(kWidth, kHeight, "attention: imbalance of each step, by its packing group") {}

  std::string Draw() {
    DrawRatioAxis();
    DrawCurriculum();
    DrawDots();
    DrawStrip();
    DrawStepAxis();
    return svg_.Finish();
  }

 private:
  double Place(size_t step) const {
    return X(static_cast<double>(step) / static_cast<double>(count_));
  }
  void DrawRatioAxis() {
    for (int decade = kFirstDecade; decade <= 0; ++decade) {
      const double y = LogY(decade);
      svg_.Line(decade == kFirstDecade ? "floor" : "grid", kLeft, y, kRight, y);
      svg_.Text(
          "tick", kLeft - 6, y + 4, "end",
          fmt::format("{}{:g}%", decade == kFirstDecade ? "≤" : "", std::pow(10.0, decade) * 100));
    }
    svg_.Text("axis", 4, 12, "start", "waiting, attention");
  }

  void DrawCurriculum() {
    if (steps_.curriculum_steps <= 0) return;
    const double x = Place(std::min(count_, static_cast<size_t>(steps_.curriculum_steps)));
    svg_.Line("cap", x, kTop - 4, x, kStripFloor);
    const bool right = x > kRight - 330;
    svg_.Text("tick cap-text", right ? x - 5 : x + 5, kTop - 6, right ? "end" : "start",
              fmt::format("curriculum: the first {} steps run the shortest group",
                          Integer(steps_.curriculum_steps)));
  }

  void DrawDots() {
    const size_t known = std::min(steps_.ratios->size(), steps_.step_group->size());
    const size_t dots = std::min(known, kMostDots);
    for (size_t i = 0; i < dots; ++i) {
      const size_t step = known * i / dots;
      const double half = 0.5 / static_cast<double>(count_) * (kRight - kLeft);
      svg_.Dot("dot " + GroupStyle(static_cast<size_t>((*steps_.step_group)[step])),
               Place(step) + half, Y((*steps_.ratios)[step]), dots > 500 ? 1.6 : 2.5);
    }
  }

  // Draws the groups on top of each other, in proportion.
  void DrawStrip() {
    const size_t steps = steps_.step_group->size();
    const size_t places = std::min(steps, kMostPlaces);
    for (size_t i = 0; i < places; ++i) {
      const size_t first = steps * i / places, end = steps * (i + 1) / places;
      std::vector<size_t> of(steps_.groups);
      for (size_t s = first; s < end; ++s) ++of[static_cast<size_t>((*steps_.step_group)[s])];
      double floor = kStripFloor;
      for (size_t g = 0; g < of.size(); ++g) {
        if (of[g] == 0) continue;
        const double height = (kStripFloor - kStripTop) * static_cast<double>(of[g]) /
                              static_cast<double>(end - first);
        floor -= height;
        svg_.Box("bar " + GroupStyle(g), Place(first), floor, Place(end) - Place(first), height);
      }
    }
    svg_.Text("tick", kLeft - 6, (kStripTop + kStripFloor) / 2 + 4, "end", "groups");
  }

  void DrawStepAxis() {
    for (const double tick : RoundTicks(0, static_cast<double>(count_), 10)) {
      if (tick > static_cast<double>(count_) || tick != static_cast<double>(int64_t(tick)))
        continue;
      const double x = Place(static_cast<size_t>(tick));
      svg_.Line("floor", x, kStripFloor, x, kStripFloor + 4);
      svg_.Text("tick", x, kStripFloor + 18, x > kRight - 20 ? "end" : "middle",
                Integer(static_cast<int64_t>(tick)));
    }
    svg_.Text("axis", (kLeft + kRight) / 2, kHeight - 10, "middle", "steps of the epoch");
  }

  const GroupedSteps& steps_;
  const size_t count_;
  Svg svg_;
};

}  // namespace

std::string GroupStyle(size_t group) { return fmt::format("group-{}", group % kStyles); }

std::string GroupStepChart(const GroupedSteps& steps) { return Chart(steps).Draw(); }

}  // namespace evenkeel::cli
