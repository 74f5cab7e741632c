// Shows profiles.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_PROFILES_H_
#define EVENKEEL_CLIENT_CLI_RENDER_PROFILES_H_

#include <string>

#include "client/cli/base/text.h"
#include "evenkeel/v1/profile.pb.h"

namespace evenkeel::cli {

std::string RenderRecorded(const Style& style, const v1::RecordProfileRequest& request,
                           const v1::RecordProfileResponse& response);
// Shows each step outcome next to its plan, with advice about the difference.
std::string RenderDrift(const Style& style, const v1::RecordProfileResponse& response);
std::string RenderHistory(const Style& style, const v1::ListProfilesResponse& response);
std::string RenderRolledBack(const v1::RollBackProfileResponse& response);

// Returns "2026-11-21 10:36:00", in the local time zone.
std::string LocalTime(const google::protobuf::Timestamp& time);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_PROFILES_H_
