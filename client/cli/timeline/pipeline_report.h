// Shows a plan and its simulated step as a self-contained HTML file.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_PIPELINE_REPORT_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_PIPELINE_REPORT_H_

#include <string>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/timeline.pb.h"

namespace evenkeel::cli {

// Shows the pipeline as a picture, where time and memory of each stage go, and the plan's key
// facts. The result depends only on the arguments, not on date or machine. Returns "" if the
// timeline is not well-formed.
std::string PipelineReport(const v1::Plan& plan, const v1::Timeline& timeline);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_PIPELINE_REPORT_H_
