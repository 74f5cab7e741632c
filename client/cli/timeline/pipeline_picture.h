// The pipeline as a picture: stages over time.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_PIPELINE_PICTURE_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_PIPELINE_PICTURE_H_

#include <string>
#include <vector>

#include "evenkeel/v1/timeline.pb.h"

namespace evenkeel::cli {

// A stretch of the step.
struct Window {
  double from_seconds = 0;
  double to_seconds = 0;
};

// What of the step to draw: all of it, and, where passes are then too narrow for their numbers, its
// start and its end again.
std::vector<Window> PictureWindows(const v1::Timeline& timeline);

// One row per stage: what it computes, and in a strip below its communication. Passes too narrow to
// see are drawn as shares of the time.
std::string PipelinePicture(const v1::Timeline& timeline, const Window& window);

// An axis of time below a chart: ticks at round times. For charts of this width.
inline constexpr double kChartWidth = 1120;
inline constexpr double kChartLeft = 86, kChartRight = 1112;
double AtTime(const Window& window, double seconds);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_PIPELINE_PICTURE_H_
