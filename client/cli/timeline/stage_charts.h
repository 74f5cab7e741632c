// Charts of a pipeline's stages that accompany its picture: time by part, memory by part, and
// memory over time.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_STAGE_CHARTS_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_STAGE_CHARTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/timeline.pb.h"

namespace evenkeel::cli {

// (class of the marks, name), for legends.
using Legend = std::vector<std::pair<std::string, std::string>>;

// Explains the marks in a paragraph.
std::string LegendText(const Legend& legend);

// Returns the parts of a stage's time that occur on any stage.
Legend TimeParts(const v1::Timeline& timeline);
std::string TimeBars(const v1::Timeline& timeline);

// Peak memory of a stage by part.
struct StagePeak {
  std::vector<std::pair<std::string, int64_t>> parts;
  int64_t capacity_bytes = 0;  // 0 if unknown
  std::string moment;          // when and by what it peaks; empty if not simulated
};
// Takes peaks from the simulation if there is one, otherwise from the plan.
std::vector<StagePeak> StagePeaks(const v1::Plan& plan, const v1::Timeline& timeline);
Legend PeakParts(const std::vector<StagePeak>& peaks);
std::string PeakBars(const std::vector<StagePeak>& peaks);

// Draws the memory of each stage over the step, against the capacity. Returns "" if the memory was
// not simulated.
std::string MemoryCurves(const v1::Timeline& timeline, const std::vector<StagePeak>& peaks);

// Draws when each data-parallel rank ends its last pass. Returns "" if all are alike.
std::string RankChart(const v1::Timeline& timeline);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_STAGE_CHARTS_H_
