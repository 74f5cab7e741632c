// Converts the outcomes of calls about profiles from the calibration to the contract.
#ifndef EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_TO_PROTO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/calibration.h"
#include "planner/cost/apply_calibration.h"
#include "planner/cost/calibration_book.h"
#include "planner/cost/profile_rating.h"
#include "server/base/profile_record.h"
#include "server/convert/profile/profile_bytes.h"
#include "server/convert/profile/profile_from_proto.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class ListProfilesRequest;
class ListProfilesResponse;
class RecordProfileResponse;
class RollBackProfileResponse;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// The calibration that an answer was made with.
struct CalibrationFacts {
  int64_t revision = 0;                       // newest revision taken into account
  std::optional<double> unconfirmed_seconds;  // nullopt if none was newer when the call came
};

struct RecordOutcome {
  std::string store_error;     // if set, nothing was recorded and no other field is set
  bool store_unknown = false;  // with store_error: it may have been recorded nonetheless
  int64_t revision = 0;        // 0 for a dry run, or if everything was refused
  bool already_recorded = false;
  bool durable = false;
  planner::Judgement judgement;
  planner::Calibration calibration;  // includes the profile
  planner::PredictionErrors before, after;
};

struct RollBackOutcome {
  std::string store_error;  // as in the struct above
  bool store_unknown = false;
  bool not_found = false;  // there is no such revision
  int64_t newest = 0;      // newest revision of the history before the call
  int64_t revision = 0;    // 0 if it would have changed nothing
  bool durable = false;
  std::vector<int64_t> deactivated, reactivated;
};

// One revision of the history. A server keeps all of them, so they hold no more than they need.
struct HistoryEntry {
  int64_t unix_ns = 0;
  ProfileAction action = ProfileAction::kRecord;
  int64_t target = 0;  // of a roll-back
  planner::SharedValue<std::string> author;
  ProfileTexts texts;           // set for a profile
  planner::RatedProfile rated;  // the profile; of a roll-back, only the revision

  int64_t revision() const { return rated.revision; }
  const planner::MeasuredProfile& profile() const { return rated.profile; }
};

void RecordOutcomeToProto(const ProfileUpload& upload, const RecordOutcome& outcome,
                          v1::RecordProfileResponse* out);
void RollBackOutcomeToProto(const RollBackOutcome& outcome, v1::RollBackProfileResponse* out);

// Fills in the requested page of `history` (oldest first), or returns everything that is wrong with
// the request. `active` says which entries are in force.
std::vector<Violation> HistoryPageToProto(
    const v1::ListProfilesRequest& request,
    const std::vector<std::shared_ptr<const HistoryEntry>>& history,
    const std::vector<bool>& active, bool durable, v1::ListProfilesResponse* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_TO_PROTO_H_
