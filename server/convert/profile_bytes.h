// A profile in the form that the store keeps: a serialised v1::Profile.
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

// A profile, and the software that it was measured with.
struct ProfileFacts {
  planner::Profile profile;
  // True if the catalogue has the model and GPU type. If false, `profile` has only their names and
  // can only be listed.
  bool known = true;
  std::string framework;
  std::string software;
  std::string note;
  std::string digest;  // digest of the request, so that the same one is not recorded twice
};

// Returns the planner and catalogue versions of this release, which predict the steps of a plan.
std::string ModelVersion();

// Finds the model, the pair, or the encoder alone. Adds violations at `field`.
bool MeasuredModelByName(std::string_view name, const FieldPath& field, ViolationSink& sink,
                         planner::Profile* profile);

// Serialises a profile. The same facts give the same bytes.
std::string SerializeProfile(const ProfileFacts& facts);
// Returns false if the bytes are not such a message, or are one that this release cannot have
// written.
bool ParseProfile(std::string_view bytes, ProfileFacts* facts);

void ProfileToProto(const ProfileFacts& facts, v1::Profile* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PROFILE_BYTES_H_
