// Compares several offers for a job.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_OFFERS_H_
#define EVENKEEL_CLIENT_CLI_RENDER_OFFERS_H_

#include <string>

#include "client/cli/base/text.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// Returns a table of the offers, best first, and of those without a plan. Returns "" if there was
// one offer.
std::string RenderOffers(const Style& style, const v1::PlanJobResponse& response);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_OFFERS_H_
