// Version of this release, as plans name it.
#ifndef EVENKEEL_SERVER_CONVERT_VERSION_H_
#define EVENKEEL_SERVER_CONVERT_VERSION_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

inline constexpr std::string_view kReleaseVersion = "1.22.0";  // CMakeLists.txt reads this line

// Returns planner::kPlannerRevision, which changes whenever any plan does. It is defined in a file
// of its own, so that a test can link a server of the next release.
int64_t PlannerRevision();

// Returns the release and the revision, such as "0.1.0+r1".
std::string PlannerVersion();

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_VERSION_H_
