// A profile in the form that the store keeps: a serialised v1::Profile.
#ifndef EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_BYTES_H_
#define EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_BYTES_H_

#include <string>
#include <string_view>

#include "planner/base/compact_id.h"
#include "planner/base/shared_value.h"
#include "planner/cost/measured_profile.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Gpu;
class Model;
class Profile;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// The parts of a request other than its measurements.
struct ProfileTexts {
  // True if the catalogue has the model and GPU type. If false, the profile has only their names
  // and can only be listed.
  bool known = true;
  planner::SharedValue<std::string> framework;
  planner::SharedValue<std::string> software;
  planner::SharedValue<std::string> note;
  // The v1::Model and v1::Gpu that the request described; empty where it named them.
  planner::SharedValue<std::string> described_model;
  planner::SharedValue<std::string> described_gpu;
  planner::CompactId digest;  // digest of the request, so that no request is recorded twice
};

// A profile, and the software that it was measured with.
struct ProfileFacts : ProfileTexts {
  planner::MeasuredProfile profile;
};

// Returns the planner and catalogue versions of this release, which predict the steps of a plan.
std::string ModelVersion();

// Finds the model, the pair, or the single encoder. Adds violations at `field`.
bool MeasuredModelByName(std::string_view name, const FieldPath& field, ViolationSink& sink,
                         planner::MeasuredProfile* profile);

// Read models and GPU types that a request describes in full. Return false after violations.
bool MeasuredModelFromProto(const v1::Model& from, const FieldPath& field, ViolationSink& sink,
                            ProfileFacts* facts);
bool MeasuredGpuFromProto(const v1::Gpu& from, const FieldPath& field, ViolationSink& sink,
                          ProfileFacts* facts);

// Serialises a profile. The same facts give the same bytes.
std::string SerializeProfile(const ProfileFacts& facts);
// Returns false if the bytes are not such a message, or are one that this release cannot have
// written.
bool ParseProfile(std::string_view bytes, ProfileFacts* facts);

void ProfileToProto(const ProfileTexts& texts, const planner::MeasuredProfile& profile,
                    v1::Profile* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PROFILE_PROFILE_BYTES_H_
