// The recompute of a stage's layers under one setting for the whole model.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_ONE_SETTING_H_
#define EVENKEEL_PLANNER_RECOMPUTE_ONE_SETTING_H_

#include <cstddef>
#include <optional>

#include "planner/cost/layer_profile.h"
#include "planner/model/recompute_setting.h"
#include "planner/recompute/stage_memory.h"

namespace evenkeel::planner {

// Returns the mode of all layers like `layer` under the setting, or of those that its block covers.
// Returns nullopt if the layer has no such mode: then another setting does the same, or better.
std::optional<size_t> ModeUnder(const RecomputeSetting& setting, const LayerCost& layer);

// Returns whether every layer of the profile has its mode.
bool HasModesOf(const LayerProfile& profile, const RecomputeSetting& setting);

// Returns whether the recompute of a chunk under the profile's setting depends on its place in the
// chain, not only on its layers: a block covers the front of a chunk, and layers of several classes
// take turns.
bool DependsOnPlace(const LayerProfile& profile);

// Returns the recompute, under the profile's setting, of a chunk with these layers, the first at
// chain position `begin`. REQUIRES: the profile has a setting and HasModesOf it.
ModeCounts RecomputedUnderSetting(const LayerProfile& profile, const ClassCounts& counts,
                                  int64_t begin);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_ONE_SETTING_H_
