// The recompute settings of Megatron-Core, and the best of them for given stages.
#ifndef EVENKEEL_PLANNER_LAUNCH_MEGATRON_RECOMPUTE_H_
#define EVENKEEL_PLANNER_LAUNCH_MEGATRON_RECOMPUTE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/launch/trials.h"

namespace evenkeel::planner {

// A setting as Megatron-Core's flags express it: one for all stages
// (megatron/core/transformer/transformer_config.py).
struct RecomputeFlags {
  std::vector<std::string> modules;  // --recompute-granularity selective --recompute-modules ...
  // --recompute-granularity full --recompute-method block: language layers from the front of each
  // chunk. One value is --recompute-num-layers; one value per stage is FlagScale's setting.
  std::vector<int64_t> block;
  bool encoder = false;  // every encoder layer is recomputed whole, too (--recompute-vision)
  bool all = false;      // `block` covers every layer of every chunk
};

struct SettingChoice {
  RecomputeFlags setting;
  Trial trial;
  int64_t tried = 0, fitting = 0;
};

// Returns whether --recompute-vision has an effect: whether some encoder trains. A frozen one runs
// no backward pass, since nothing before it trains, and keeps nothing for one.
bool RecomputesEncoders(const ModelSpec& model);

// Returns the flags that give exactly the recompute of the spec, or nullopt if none do.
std::optional<RecomputeFlags> FlagsOf(const Job& job, const PlanSpec& spec);

// Returns the setting that the spec already has, or else the quickest setting that fits, or nullopt
// if none fits. If `per_stage`, FlagScale's settings with one value per stage are tried, too.
std::optional<SettingChoice> BestSetting(const Trials& trials, const PlanSpec& spec,
                                         bool per_stage);

// Returns the spec with exactly the recompute of the setting.
PlanSpec Apply(const RecomputeFlags& setting, PlanSpec spec);

// Describes the setting: "none", "the modules layernorm, mlp of every layer", ...
std::string TextOf(const RecomputeFlags& setting);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_MEGATRON_RECOMPUTE_H_
