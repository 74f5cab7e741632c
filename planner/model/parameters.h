// Learnable parameters, counted from dimensions.
#ifndef EVENKEEL_PLANNER_MODEL_PARAMETERS_H_
#define EVENKEEL_PLANNER_MODEL_PARAMETERS_H_

#include <cstdint>

#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// For an encoder these are the blocks, patch embedding, class tokens and positions, but not the
// norms before and after the blocks (at most 4 x hidden), nor pooling heads, which no language
// model uses.
int64_t CountParameters(const LanguageModel& model);
// Returns the parameters that one token uses: of the routed experts, only those that it visits.
int64_t CountActiveParameters(const LanguageModel& model);
int64_t CountParameters(const Encoder& encoder);
int64_t CountParameters(const Projector& projector, int64_t llm_hidden);
int64_t CountParameters(const ModelSpec& model);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MODEL_PARAMETERS_H_
