// Version of this release, as plans name it.
#ifndef EVENKEEL_SERVER_CONVERT_VERSION_H_
#define EVENKEEL_SERVER_CONVERT_VERSION_H_

#include <string>
#include <string_view>

#include "planner/plan.h"

namespace evenkeel::server {

inline constexpr std::string_view kReleaseVersion = "0.1.0";  // CMakeLists.txt reads this line

// "0.1.0+r1": release, and the revision that changes whenever any plan does.
inline std::string PlannerVersion() {
  return std::string(kReleaseVersion) + "+r" + std::to_string(planner::kPlannerRevision);
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_VERSION_H_
