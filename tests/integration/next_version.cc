// A release whose planner is one revision on: what a rolling upgrade meets. Linked before
// server/convert/version.cc, whose place it takes.
#include "planner/plan.h"
#include "server/convert/version.h"

namespace evenkeel::server {

int64_t PlannerRevision() { return planner::kPlannerRevision + 1; }

std::string PlannerVersion() {
  return std::string(kReleaseVersion) + "+r" + std::to_string(PlannerRevision());
}

}  // namespace evenkeel::server
