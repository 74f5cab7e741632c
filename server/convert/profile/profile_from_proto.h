// Checks and converts a RecordProfileRequest.
#ifndef EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_FROM_PROTO_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/drift.h"
#include "server/convert/profile/profile_bytes.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class RecordProfileRequest;
class RollBackProfileRequest;
class StepDrift;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Returns the serialised v1::Plan with that id, or nullptr if it is not available.
using PlanSource = std::function<std::shared_ptr<const std::string>(std::string_view plan_id)>;

// A step outcome that cannot be compared with its plan.
struct UnplannedStep {
  int64_t index = 0;  // index in the request
  bool plan_unknown = false;
  std::string text;
};

struct ComparedStep {
  Drift drift;
  std::shared_ptr<const v1::StepDrift> message;
};

struct ProfileUpload {
  ProfileFacts facts;
  std::string author;
  bool dry_run = false;
  std::vector<int64_t> step_indices;  // index in the request, for each of facts.profile.steps
  std::vector<UnplannedStep> unplanned;
  // Outcomes whose plan was found, compared with it, in the order of the request.
  std::vector<ComparedStep> compared;
};

// Fills `*upload`, or returns all faults of the request.
std::vector<Violation> ProfileFromProto(const v1::RecordProfileRequest& request,
                                        const PlanSource& plans, ProfileUpload* upload);

struct RollBack {
  bool is_remove = false;  // true to remove only `target`; false to roll back to `target`
  int64_t target = 0;
  std::string author;
};

// Does not check whether the revision exists.
std::vector<Violation> RollBackFromProto(const v1::RollBackProfileRequest& request,
                                         RollBack* roll_back);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_FROM_PROTO_H_
