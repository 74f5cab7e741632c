#include "server/convert/version.h"

#include "planner/plan.h"

namespace evenkeel::server {

int64_t PlannerRevision() { return planner::kPlannerRevision; }

std::string PlannerVersion() {
  return std::string(kReleaseVersion) + "+r" + std::to_string(PlannerRevision());
}

}  // namespace evenkeel::server
