#include "client/cli/timeline/pipeline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "client/cli/base/text.h"
#include "client/cli/report/svg.h"
#include "client/cli/timeline/operation_names.h"

namespace evenkeel::cli {
namespace {

constexpr double kTop = 6, kAxis = 26;
constexpr double kDigit = 5.6;     // width of a digit in a pass's number
constexpr double kNumbered = 15;   // width that leaves room for two digits
constexpr double kVisible = 2.5;   // median width from which passes are drawn one by one
constexpr int kPassesPerBin = 24;  // narrower passes in a bin, on average
constexpr int kLevels = 8;         // levels of a share in a bin

const std::array<v1::OperationKind, 4> kPasses = {
    v1::OPERATION_KIND_FORWARD, v1::OPERATION_KIND_RECOMPUTE, v1::OPERATION_KIND_BACKWARD,
    v1::OPERATION_KIND_WEIGHT_GRADIENT};

struct Rows {
  double height, strip, step;  // height of passes, of communication, of a row
};

Rows RowsFor(int stages) {
  if (stages <= 8) return {30, 5, 46};
  if (stages <= 16) return {22, 4, 34};
  return {14, 3, 22};
}

double Median(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  return *middle;
}

// Draws the narrow passes of one row as shares of the time in bins.
class ShareBins {
 public:
  ShareBins(const Window& window, double width)
      : window_(window),
        width_(width),
        bins_(static_cast<size_t>((kChartRight - kChartLeft) / width) + 1) {}

  void Add(const TimelineOperation& operation) {
    const double from = AtTime(window_, operation.start_seconds);
    const double to = AtTime(window_, operation.end_seconds);
    const auto kind = static_cast<size_t>(
        std::find(kPasses.begin(), kPasses.end(), operation.kind) - kPasses.begin());
    for (double at = from; at < to;) {
      const size_t bin =
          std::min(bins_.size() - 1, static_cast<size_t>((at - kChartLeft) / width_));
      const double next = std::min(to, kChartLeft + width_ * static_cast<double>(bin + 1));
      bins_[bin][kind] += (next - at) / width_;
      at = std::max(next, at + 1e-6);
    }
    any_ = true;
  }

  void Draw(Svg* svg, double top, double height) const {
    if (!any_) return;
    for (size_t first = 0, end; first < bins_.size(); first = end) {
      const std::array<int, kPasses.size()> levels = Levels(bins_[first]);
      for (end = first + 1; end < bins_.size() && Levels(bins_[end]) == levels;) ++end;
      const double x = kChartLeft + width_ * static_cast<double>(first);
      const double width = std::min(width_ * static_cast<double>(end - first), kChartRight - x);
      double floor = top + height;
      for (size_t k = 0; k < kPasses.size(); ++k) {
        const double tall = height * levels[k] / kLevels;
        if (levels[k] == 0) continue;
        floor -= tall;
        svg->Box(OperationStyle(kPasses[k]), x, floor, width, tall);
      }
    }
  }

 private:
  using Shares = std::array<double, kPasses.size()>;

  static std::array<int, kPasses.size()> Levels(const Shares& shares) {
    std::array<int, kPasses.size()> levels{};
    double sum = 0;
    int before = 0;
    for (size_t k = 0; k < shares.size(); ++k) {
      sum += shares[k];
      const int now = std::min(kLevels, static_cast<int>(sum * kLevels + 0.5));
      levels[k] = now - before;
      before = now;
    }
    return levels;
  }

  const Window& window_;
  double width_;
  std::vector<Shares> bins_;
  bool any_ = false;
};

// Returns the median width of the passes of all stages, or 0 if there are none.
double MedianPassWidth(const v1::Timeline& timeline, const Window& window) {
  std::vector<double> widths;
  for (const v1::StageTimeline& stage : timeline.stages()) {
    for (int i = 0; i < stage.operations().kinds_size(); ++i) {
      const TimelineOperation operation = OperationAt(stage.operations(), i);
      if (IsPass(operation.kind))
        widths.push_back(AtTime(window, operation.end_seconds) -
                         AtTime(window, operation.start_seconds));
    }
  }
  return widths.empty() ? 0 : Median(&widths);
}

// One stage.
class Row {
 public:
  // `pass_width` is the median of all stages, so that all rows are drawn alike.
  Row(const v1::Timeline& timeline, int stage, const Window& window, double pass_width, Svg* svg)
      : timeline_(timeline),
        operations_(timeline.stages(stage).operations()),
        window_(window),
        pass_width_(pass_width),
        rows_(RowsFor(timeline.stages_size())),
        top_(kTop + rows_.step * stage),
        svg_(svg) {}

  void Draw() {
    svg_->Box("idle", kChartLeft, top_, kChartRight - kChartLeft, rows_.height);
    for (int i = 0; i < operations_.kinds_size(); ++i) {
      const TimelineOperation operation = OperationAt(operations_, i);
      if (!IsPass(operation.kind)) continue;
      first_pass_ = std::min(first_pass_, operation.start_seconds);
      last_pass_ = std::max(last_pass_, operation.end_seconds);
    }
    ShareBins bins(window_, std::max(3.0, pass_width_ * kPassesPerBin));
    for (int i = 0; i < operations_.kinds_size(); ++i) {
      TimelineOperation operation = OperationAt(operations_, i);
      if (operation.end_seconds <= window_.from_seconds ||
          operation.start_seconds >= window_.to_seconds) {
        continue;
      }
      const std::string hint = Hint(operation);
      operation.start_seconds = std::max(operation.start_seconds, window_.from_seconds);
      operation.end_seconds = std::min(operation.end_seconds, window_.to_seconds);
      if (!IsPass(operation.kind)) {
        DrawOther(operation, hint);
      } else if (pass_width_ < kVisible) {
        bins.Add(operation);
      } else {
        DrawPass(operation, hint);
      }
    }
    bins.Draw(svg_, top_, rows_.height);
  }

 private:
  double Width(const TimelineOperation& operation) const {
    return AtTime(window_, operation.end_seconds) - AtTime(window_, operation.start_seconds);
  }

  std::string Hint(const TimelineOperation& operation) const {
    return fmt::format(
        "{}: {}, from {} to {}",
        OperationText(operation.kind, operation.chunk, operation.pack, timeline_.virtual_stages()),
        Duration(operation.end_seconds - operation.start_seconds),
        Duration(operation.start_seconds), Duration(operation.end_seconds));
  }

  // Later virtual stages are paler: 0 to 3.
  int Shade(const TimelineOperation& operation) const {
    const int last = timeline_.virtual_stages() - 1;
    return last > 0 && operation.chunk > 0 ? (operation.chunk * 3 + last - 1) / last : 0;
  }

  void DrawPass(const TimelineOperation& operation, const std::string& hint) {
    const double x = AtTime(window_, operation.start_seconds), width = Width(operation);
    const int shade = Shade(operation);
    std::string style = OperationStyle(operation.kind);
    if (shade > 0) style += fmt::format(" shade-{}", shade);
    svg_->Box(style + (width > 4 ? " edge" : ""), x, top_, width, rows_.height, hint);
    const std::string number = std::to_string(operation.pack);
    if (width < kDigit * static_cast<double>(number.size()) + 3 ||
        operation.kind == v1::OPERATION_KIND_RECOMPUTE) {
      return;
    }
    svg_->Text(shade > 1 ? "pack on-pale" : "pack", x + width / 2, top_ + rows_.height / 2 + 3.5,
               "middle", number);
  }

  // Draws communication in its strip, and also as what the stage does before its first and after
  // its last pass.
  void DrawOther(TimelineOperation operation, const std::string& hint) {
    const char* style = OperationStyle(operation.kind);
    const double x = AtTime(window_, operation.start_seconds);
    if (operation.kind != v1::OPERATION_KIND_OPTIMIZER && Width(operation) >= 0.5) {
      svg_->Box(style, x, top_ + rows_.height + 1, Width(operation), rows_.strip, hint);
    }
    if (operation.kind == v1::OPERATION_KIND_GRADIENT_SYNC) {
      operation.start_seconds = std::max(operation.start_seconds, last_pass_);
    } else if (operation.kind == v1::OPERATION_KIND_PARAMETER_GATHER) {
      operation.end_seconds = std::min(operation.end_seconds, first_pass_);
    } else if (operation.kind != v1::OPERATION_KIND_OPTIMIZER) {
      return;
    }
    if (operation.end_seconds <= operation.start_seconds) return;
    svg_->Box(style, AtTime(window_, operation.start_seconds), top_, Width(operation), rows_.height,
              hint);
  }

  const v1::Timeline& timeline_;
  const v1::Operations& operations_;
  const Window& window_;
  double pass_width_;
  Rows rows_;
  double top_;
  Svg* svg_;
  double first_pass_ = 1e300, last_pass_ = 0;
};

double IdleShare(const v1::Timeline& timeline, int s) {
  const v1::StageTime& time = timeline.stages(s).time();
  const double busy = time.forward_seconds() + time.recompute_seconds() + time.backward_seconds() +
                      time.weight_gradient_seconds();
  return timeline.pipeline_seconds() > 0 ? 1 - busy / timeline.pipeline_seconds() : 0;
}

}  // namespace

double AtTime(const Window& window, double seconds) {
  return kChartLeft + (kChartRight - kChartLeft) * (seconds - window.from_seconds) /
                          (window.to_seconds - window.from_seconds);
}

std::vector<Window> PictureWindows(const v1::Timeline& timeline) {
  const double step = timeline.step_seconds();
  if (!(step > 0)) return {};
  std::vector<double> forwards;
  for (const v1::StageTimeline& stage : timeline.stages()) {
    for (int i = 0; i < stage.operations().kinds_size(); ++i) {
      const TimelineOperation operation = OperationAt(stage.operations(), i);
      if (operation.kind != v1::OPERATION_KIND_FORWARD) continue;
      forwards.push_back(operation.end_seconds - operation.start_seconds);
    }
  }
  std::vector<Window> windows = {{0, step}};
  if (forwards.empty()) return windows;
  // At this length, a forward is a little wider than its number needs.
  const double length = Median(&forwards) * (kChartRight - kChartLeft) / (kNumbered * 1.4);
  if (length < 0.7 * step) windows.insert(windows.end(), {{0, length}, {step - length, step}});
  return windows;
}

bool DrawsShares(const v1::Timeline& timeline, const Window& window) {
  return MedianPassWidth(timeline, window) < kVisible;
}

std::string PipelinePicture(const v1::Timeline& timeline, const Window& window) {
  const int stages = timeline.stages_size();
  const Rows rows = RowsFor(stages);
  const double floor = kTop + rows.step * stages;
  const double pass_width = MedianPassWidth(timeline, window);
  Svg svg(kChartWidth, floor + kAxis, "stages over time");
  for (const double tick : RoundTicks(window.from_seconds, window.to_seconds, 10)) {
    if (tick < window.from_seconds || tick > window.to_seconds) continue;
    const double x = AtTime(window, tick);
    svg.Line("grid", x, kTop, x, floor);
    svg.Text("tick", std::min(x, kChartRight - 16), floor + 16, "middle", Duration(tick));
  }
  for (int s = 0; s < stages; ++s) {
    const double top = kTop + rows.step * s;
    const bool two_lines = rows.height >= 26;
    svg.Text("stage", kChartLeft - 8, top + rows.height / 2 + (two_lines ? -2 : 4), "end",
             fmt::format("stage {}", s));
    if (two_lines) {
      svg.Text("tick", kChartLeft - 8, top + rows.height / 2 + 12, "end",
               "idle " + Percent(IdleShare(timeline, s)));
    }
    Row(timeline, s, window, pass_width, &svg).Draw();
  }
  return svg.Finish();
}

}  // namespace evenkeel::cli
