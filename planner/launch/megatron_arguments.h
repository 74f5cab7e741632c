// Arguments of Megatron-LM's pretrain_gpt.py, or of examples/multimodal/train.py for models with an
// encoder. Their rules are in
// megatron/core/transformer/{pipeline_parallel_layer_layout,transformer_config}.py and
// megatron/training/arguments.py.
#ifndef EVENKEEL_PLANNER_LAUNCH_MEGATRON_ARGUMENTS_H_
#define EVENKEEL_PLANNER_LAUNCH_MEGATRON_ARGUMENTS_H_

#include <string>
#include <vector>

#include "planner/launch/megatron_recompute.h"
#include "planner/launch/trials.h"

namespace evenkeel::planner {

// Returns the arguments. A `setting` with one value per stage also gives FlagScale's arguments.
std::vector<std::string> MegatronArguments(const Trials& trials, const PlanSpec& spec,
                                           const RecomputeFlags& setting);

// Returns the features of the model that the arguments cannot express, such as "4 norms per layer";
// empty if there are none.
std::string LeftToTheModel(const LanguageModel& model);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_MEGATRON_ARGUMENTS_H_
