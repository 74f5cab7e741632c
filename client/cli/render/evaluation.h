// Shows a caller's plan next to ours.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_EVALUATION_H_
#define EVENKEEL_CLIENT_CLI_RENDER_EVALUATION_H_

#include <string>
#include <vector>

#include "client/cli/base/text.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// Shows a plan of the caller next to ours. `computed_by` is like PlanOrigin::served_from.
std::string RenderEvaluation(const Style& style, const v1::EvaluatePlanResponse& response,
                             const std::string& computed_by);

// Returns the section that compares the two plans, figure by figure.
std::string RenderComparison(const Style& style, const v1::EvaluatePlanResponse& response);

// Returns a paragraph for each of `written`; empty if the command wrote nothing.
std::string RenderWritten(const Style& style, const std::vector<std::string>& written);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_EVALUATION_H_
