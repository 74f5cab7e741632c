// The steps of projectors that are more than one or two linear layers.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_PROJECTOR_STEPS_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_PROJECTOR_STEPS_H_

#include <cstdint>

#include "planner/model/model_spec.h"
#include "server/convert/config/encoders.h"
#include "server/convert/config/values.h"

namespace evenkeel::server {

// Sets the steps that the joint names, and nothing if it names none. `merged`: patches that are
// merged into one. REQUIRES: the tower has all else.
void ReadProjectorSteps(ConfigValues& values, ConfigValues& whole, const ConfigEncoder& encoder,
                        const ConfigJoint& joint, int64_t merged,
                        const planner::LanguageModel& model, planner::EncoderTower* tower);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_PROJECTOR_STEPS_H_
