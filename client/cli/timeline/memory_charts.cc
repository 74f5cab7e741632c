// Charts of the memory of stages by part and over time.
#include <fmt/format.h>

#include <algorithm>

#include "client/cli/base/text.h"
#include "client/cli/report/svg.h"
#include "client/cli/timeline/operation_names.h"
#include "client/cli/timeline/pipeline_picture.h"
#include "client/cli/timeline/stage_charts.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kStyles = 10;  // part-0 to part-9
constexpr double kBar = 20, kStep = 30, kBarsRight = 800;
constexpr double kCurve = 40, kCurveStep = 54, kAxis = 26;
constexpr int kPointsAtMost = 2000;  // points of a curve that is drawn step by step

std::string PartStyle(size_t i) { return fmt::format("part-{}", i % kStyles); }

std::string MomentText(const v1::MemoryCurve& memory, int virtual_stages) {
  return fmt::format("at {}, {}", Duration(memory.peak_at_seconds()),
                     OperationText(memory.peak_operation(), memory.peak_chunk(), memory.peak_pack(),
                                   virtual_stages));
}

int64_t Sum(const StagePeak& peak) {
  int64_t sum = 0;
  for (const auto& [name, bytes] : peak.parts) sum += bytes;
  return sum;
}

// Returns the corners of a curve of steps, from the chart's floor and back to it.
Svg::Points CurvePoints(const v1::MemoryCurve& memory, const Window& step, double floor,
                        double scale) {
  const auto y = [&](int64_t bytes) { return floor - scale * static_cast<double>(bytes); };
  const int count = memory.at_seconds_size();
  const double end = kChartRight;
  Svg::Points points = {{kChartLeft, floor}};
  if (count <= kPointsAtMost) {
    for (int i = 0; i < count; ++i) {
      const double x = AtTime(step, memory.at_seconds(i));
      if (i > 0) points.emplace_back(x, points.back().second);
      points.emplace_back(x, y(memory.held_bytes(i)));
    }
  } else {
    // Draws the maximum in each place.
    for (double x = kChartLeft; x < end; ++x) {
      int64_t most = 0;
      for (int i = 0; i < count; ++i) {
        const double from = AtTime(step, memory.at_seconds(i));
        const double to = i + 1 < count ? AtTime(step, memory.at_seconds(i + 1)) : end;
        if (from < x + 1 && to >= x) most = std::max(most, memory.held_bytes(i));
      }
      points.emplace_back(x, y(most));
    }
  }
  points.emplace_back(end, points.back().second);
  points.emplace_back(end, floor);
  return points;
}

}  // namespace

std::vector<StagePeak> StagePeaks(const v1::Plan& plan, const v1::Timeline& timeline) {
  std::vector<StagePeak> peaks(
      static_cast<size_t>(std::max(plan.stages_size(), timeline.stages_size())));
  for (size_t s = 0; s < peaks.size(); ++s) {
    const int i = static_cast<int>(s);
    StagePeak& peak = peaks[s];
    if (i < timeline.stages_size() && timeline.stages(i).memory().peak_parts_size() > 0) {
      const v1::MemoryCurve& memory = timeline.stages(i).memory();
      for (const v1::NamedBytes& part : memory.peak_parts()) {
        peak.parts.emplace_back(part.name(), part.size_bytes());
      }
      peak.moment = MomentText(memory, timeline.virtual_stages());
    }
    if (i >= plan.stages_size()) continue;
    peak.capacity_bytes = plan.stages(i).capacity_bytes();
    if (!peak.parts.empty()) continue;
    const v1::MemoryParts& memory = plan.stages(i).memory();
    peak.parts = {{"weights", memory.weights_bytes()},
                  {"gradients", memory.gradients_bytes()},
                  {"optimizer", memory.optimizer_bytes()},
                  {"activations", memory.activations_bytes()},
                  {"workspace", memory.workspace_bytes()},
                  {"buffers", memory.buffers_bytes()},
                  {"communication", memory.communication_bytes()},
                  {"framework", memory.framework_bytes()},
                  {"allocator reserve", memory.allocator_reserve_bytes()}};
  }
  return peaks;
}

Legend PeakParts(const std::vector<StagePeak>& peaks) {
  Legend legend;
  for (const StagePeak& peak : peaks) {
    for (size_t i = legend.size(); i < peak.parts.size(); ++i) {
      legend.emplace_back(PartStyle(i), peak.parts[i].first);
    }
  }
  return legend;
}

std::string PeakBars(const std::vector<StagePeak>& peaks) {
  int64_t most = 1;
  for (const StagePeak& peak : peaks) most = std::max({most, Sum(peak), peak.capacity_bytes});
  const double scale = (kBarsRight - kChartLeft) / static_cast<double>(most);
  Svg svg(kChartWidth, kStep * static_cast<double>(peaks.size()) + 4, "peak memory of each stage");
  for (size_t s = 0; s < peaks.size(); ++s) {
    const StagePeak& peak = peaks[s];
    const double top = kStep * static_cast<double>(s) + 4;
    svg.Text("stage", kChartLeft - 8, top + kBar / 2 + 4, "end", fmt::format("stage {}", s));
    const double capacity = kChartLeft + scale * static_cast<double>(peak.capacity_bytes);
    svg.Box("idle", kChartLeft, top, capacity - kChartLeft, kBar);
    double x = kChartLeft;
    for (size_t i = 0; i < peak.parts.size(); ++i) {
      const auto& [name, bytes] = peak.parts[i];
      const double width = scale * static_cast<double>(bytes);
      if (bytes > 0) {
        svg.Box(PartStyle(i) + " edge", x, top, width, kBar,
                fmt::format("{}: {}", name, Bytes(bytes)));
      }
      x += width;
    }
    std::string text = Bytes(Sum(peak));
    const bool over = peak.capacity_bytes > 0 && Sum(peak) > peak.capacity_bytes;
    if (peak.capacity_bytes > 0) {
      svg.Line("cap", capacity, top - 3, capacity, top + kBar + 3);
      text = fmt::format("{} of {} GiB", Gib(Sum(peak)), Gib(peak.capacity_bytes));
    }
    const double right = kBarsRight + 12;
    svg.Text(over ? "over" : "stage", right, top + (peak.moment.empty() ? 14 : 8), "start", text);
    if (!peak.moment.empty()) svg.Text("tick", right, top + 22, "start", peak.moment);
  }
  return svg.Finish();
}

std::string MemoryCurves(const v1::Timeline& timeline, const std::vector<StagePeak>& peaks) {
  int64_t most = 0;
  for (int s = 0; s < timeline.stages_size(); ++s) {
    most = std::max({most, timeline.stages(s).memory().peak_bytes(),
                     peaks[static_cast<size_t>(s)].capacity_bytes});
    if (timeline.stages(s).memory().at_seconds_size() == 0) return "";
  }
  if (most == 0 || !(timeline.step_seconds() > 0)) return "";
  const Window step = {0, timeline.step_seconds()};
  const double scale = kCurve / static_cast<double>(most);
  const double bottom = kCurveStep * timeline.stages_size();
  Svg svg(kChartWidth, bottom + kAxis, "memory of each stage over the step");
  for (const double tick : RoundTicks(0, step.to_seconds, 10)) {
    if (tick > step.to_seconds) continue;
    const double x = AtTime(step, tick);
    svg.Line("grid", x, 0, x, bottom);
    svg.Text("tick", std::min(x, kChartRight - 16), bottom + 16, "middle", Duration(tick));
  }
  for (int s = 0; s < timeline.stages_size(); ++s) {
    const v1::MemoryCurve& memory = timeline.stages(s).memory();
    const double floor = kCurveStep * s + kCurve + 10;
    const auto y = [&](int64_t bytes) { return floor - scale * static_cast<double>(bytes); };
    svg.Text("stage", kChartLeft - 8, floor - 20, "end", fmt::format("stage {}", s));
    svg.Text("tick", kChartLeft - 8, floor - 6, "end", Gib(memory.peak_bytes()) + " GiB");
    svg.Area("curve", CurvePoints(memory, step, floor, scale));
    const int64_t capacity = peaks[static_cast<size_t>(s)].capacity_bytes;
    if (capacity > 0) svg.Line("cap", kChartLeft, y(capacity), kChartRight, y(capacity));
    svg.Dot("peak", AtTime(step, memory.peak_at_seconds()), y(memory.peak_bytes()), 3.5);
  }
  return svg.Finish();
}

}  // namespace evenkeel::cli
