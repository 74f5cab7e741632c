// The recompute settings of Megatron-Core, and the best of them for given stages.
#ifndef EVENKEEL_PLANNER_LAUNCH_RECOMPUTE_SETTINGS_H_
#define EVENKEEL_PLANNER_LAUNCH_RECOMPUTE_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/launch/trials.h"

namespace evenkeel::planner {

// One value for all stages, as its flags have it (megatron/core/transformer/transformer_config.py).
struct RecomputeSetting {
  std::vector<std::string> modules;  // --recompute-granularity selective --recompute-modules ...
  // --recompute-granularity full --recompute-method block: language layers from the front of each
  // chunk. One value: --recompute-num-layers. As many as stages: FlagScale's, each stage its own.
  std::vector<int64_t> block;
  bool encoder = false;  // all of every encoder layer too (--recompute-vision)
  bool all = false;      // `block` covers every layer of every chunk
};

struct SettingChoice {
  RecomputeSetting setting;
  Trial trial;
  int64_t tried = 0, fitting = 0;
};

// The quickest of those that fit; `per_stage`: FlagScale's values for each stage count. nullopt:
// none fits.
std::optional<SettingChoice> BestSetting(const Trials& trials, const PlanSpec& spec,
                                         bool per_stage);

// The spec with what the setting recomputes, and nothing else.
PlanSpec Apply(const RecomputeSetting& setting, PlanSpec spec);

// "none", "the modules layernorm, mlp of every layer", ...
std::string TextOf(const RecomputeSetting& setting);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_RECOMPUTE_SETTINGS_H_
