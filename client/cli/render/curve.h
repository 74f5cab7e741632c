// Shows a job by number of nodes.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_CURVE_H_
#define EVENKEEL_CLIENT_CLI_RENDER_CURVE_H_

#include <string>

#include "client/cli/base/text.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// Returns a table for each curve, with a bar for the tokens per second of each size.
std::string RenderCurve(const Style& style, const v1::PlanCurveResponse& response,
                        const std::string& computed_by);

// Returns all sizes of all curves as comma-separated values, one line each below a heading.
std::string CurveCsv(const v1::PlanCurveResponse& response);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_CURVE_H_
