// Charts of where the time of stages and ranks goes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "client/cli/base/text.h"
#include "client/cli/report/svg.h"
#include "client/cli/timeline/pipeline_picture.h"
#include "client/cli/timeline/stage_charts.h"

namespace evenkeel::cli {
namespace {

constexpr double kBar = 20, kStep = 28;

struct TimePart {
  const char* style;
  const char* name;
  double (v1::StageTime::*seconds)() const;
};

constexpr std::array<TimePart, 13> kTimeParts = {{
    {"forward", "forward", &v1::StageTime::forward_seconds},
    {"recompute", "recompute", &v1::StageTime::recompute_seconds},
    {"backward", "backward", &v1::StageTime::backward_seconds},
    {"weight", "weight gradients", &v1::StageTime::weight_gradient_seconds},
    {"send", "blocking sends", &v1::StageTime::send_seconds},
    {"wait-forward", "waiting for a forward", &v1::StageTime::wait_forward_seconds},
    {"wait-backward", "waiting for a backward", &v1::StageTime::wait_backward_seconds},
    {"wait-p2p", "waiting for p2p", &v1::StageTime::wait_p2p_seconds},
    {"gather", "gathering parameters", &v1::StageTime::parameter_gather_seconds},
    {"sync", "reducing gradients", &v1::StageTime::gradient_sync_seconds},
    {"wait-sync", "waiting for other stages to sync", &v1::StageTime::wait_sync_seconds},
    {"optimizer", "optimizer", &v1::StageTime::optimizer_seconds},
    {"idle", "waiting for the slowest optimizer", &v1::StageTime::wait_optimizer_seconds},
}};

}  // namespace

std::string LegendText(const Legend& legend) {
  std::string text = "<p class=\"legend\">\n";
  for (const auto& [style, name] : legend) {
    text += fmt::format("<span class=\"key {}\">{}</span>\n", style, Escaped(name));
  }
  return text + "</p>\n";
}

Legend TimeParts(const v1::Timeline& timeline) {
  Legend legend;
  for (const TimePart& part : kTimeParts) {
    const bool any = std::any_of(
        timeline.stages().begin(), timeline.stages().end(),
        [&](const v1::StageTimeline& stage) { return (stage.time().*part.seconds)() > 0; });
    if (any) legend.emplace_back(part.style, part.name);
  }
  return legend;
}

std::string TimeBars(const v1::Timeline& timeline) {
  const Window step = {0, timeline.step_seconds()};
  Svg svg(kChartWidth, kStep * timeline.stages_size() + 4, "time of each stage by part");
  for (int s = 0; s < timeline.stages_size(); ++s) {
    const double top = kStep * s + 4;
    svg.Text("stage", kChartLeft - 8, top + kBar / 2 + 4, "end", fmt::format("stage {}", s));
    double at = 0;
    for (const TimePart& part : kTimeParts) {
      const double seconds = (timeline.stages(s).time().*part.seconds)();
      if (seconds <= 0) continue;
      const double x = AtTime(step, at), width = AtTime(step, at + seconds) - x;
      svg.Box(std::string(part.style) + " edge", x, top, width, kBar,
              fmt::format("{}: {}, {} of the step", part.name, Duration(seconds),
                          Percent(seconds / timeline.step_seconds())));
      at += seconds;
    }
  }
  return svg.Finish();
}

std::string RankChart(const v1::Timeline& timeline) {
  constexpr double kHeight = 150, kFloor = 126, kTop = 10;
  const int ranks = timeline.ranks_size();
  if (ranks == 0 || !(timeline.pipeline_seconds() > 0)) return "";
  Svg svg(kChartWidth, kHeight, "when each data-parallel rank ends its last pass");
  const auto y = [&](double seconds) {
    return kFloor - (kFloor - kTop) * seconds / timeline.pipeline_seconds();
  };
  for (const double tick : RoundTicks(0, timeline.pipeline_seconds(), 3)) {
    if (tick > timeline.pipeline_seconds()) continue;
    svg.Line("grid", kChartLeft, y(tick), kChartRight, y(tick));
    svg.Text("tick", kChartLeft - 8, y(tick) + 4, "end", Duration(tick));
  }
  // If ranks share a place, the slowest is shown.
  const int places = std::min(ranks, 256);
  const double step = (kChartRight - kChartLeft) / places;
  for (int i = 0; i < places; ++i) {
    const int first = ranks * i / places, end = ranks * (i + 1) / places;
    int slowest = first;
    for (int r = first; r < end; ++r) {
      if (timeline.ranks(r).pipeline_seconds() > timeline.ranks(slowest).pipeline_seconds()) {
        slowest = r;
      }
    }
    const v1::RankTime& rank = timeline.ranks(slowest);
    const double x = kChartLeft + step * i, width = std::min(step * 0.8, 60.0);
    svg.Box("idle", x, y(timeline.pipeline_seconds()), width,
            kFloor - y(timeline.pipeline_seconds()));
    svg.Box(slowest == timeline.data_index() ? "sync" : "forward", x, y(rank.pipeline_seconds()),
            width, kFloor - y(rank.pipeline_seconds()),
            fmt::format("rank {}: until {}, then idle {}", slowest,
                        Duration(rank.pipeline_seconds()), Duration(rank.idle_seconds())));
    if (places <= 32) {
      svg.Text("tick", x + width / 2, kFloor + 16, "middle", std::to_string(slowest));
    }
  }
  return svg.Finish();
}

}  // namespace evenkeel::cli
