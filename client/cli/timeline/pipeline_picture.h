// Draws the pipeline as a picture: stages over time.
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

// Returns the parts of the step to draw: the whole step and, if passes are then too narrow for
// their numbers, also its start and its end.
std::vector<Window> PictureWindows(const v1::Timeline& timeline);

// Returns whether passes would be too narrow to see. They are then drawn as shares of the time, on
// all stages.
bool DrawsShares(const v1::Timeline& timeline, const Window& window);

// Draws one row per stage: its computation, and its communication in a strip below.
std::string PipelinePicture(const v1::Timeline& timeline, const Window& window);

// Width of charts with an axis of time, and where the axis begins and ends.
inline constexpr double kChartWidth = 1120;
inline constexpr double kChartLeft = 86, kChartRight = 1112;
double AtTime(const Window& window, double seconds);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_PIPELINE_PICTURE_H_
