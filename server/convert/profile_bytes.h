// A profile as the store keeps it: a serialised v1::Profile.
#ifndef EVENKEEL_SERVER_CONVERT_PROFILE_BYTES_H_
#define EVENKEEL_SERVER_CONVERT_PROFILE_BYTES_H_

#include <string>
#include <string_view>

#include "planner/cost/measured_profile.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Profile;
}

namespace evenkeel::server {

// A profile, and with what it was measured.
struct ProfileFacts {
  planner::Profile profile;
  // The catalogue has its model and GPU type. If not, `profile` has only their names, and is good
  // for nothing but to be listed.
  bool known = true;
  std::string framework;
  std::string software;
  std::string note;
  std::string digest;  // of the request: the same one is not recorded twice
};

// Planner and catalogue of this release: what predicts the steps of a plan.
std::string ModelVersion();

// The model, the pair, or the encoder alone. Violations at `field`.
bool MeasuredModelByName(std::string_view name, const FieldPath& field, ViolationSink& sink,
                         planner::Profile* profile);

// The same facts give the same bytes.
std::string SerializeProfile(const ProfileFacts& facts);
// False: no such message, or one that this release can not have written.
bool ParseProfile(std::string_view bytes, ProfileFacts* facts);

void ProfileToProto(const ProfileFacts& facts, v1::Profile* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PROFILE_BYTES_H_
