// A release whose planner is one revision ahead, as in a rolling upgrade. It is linked before
// server/convert/version.cc, and replaces it.
#include "planner/plan.h"
#include "server/convert/version.h"

namespace evenkeel::server {

int64_t PlannerRevision() { return planner::kPlannerRevision + 1; }

std::string PlannerVersion() {
  return std::string(kReleaseVersion) + "+r" + std::to_string(PlannerRevision());
}

}  // namespace evenkeel::server
