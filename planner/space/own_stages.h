// Stages of trainers that choose the layers of each by themselves.
#ifndef EVENKEEL_PLANNER_SPACE_OWN_STAGES_H_
#define EVENKEEL_PLANNER_SPACE_OWN_STAGES_H_

#include <cstdint>
#include <vector>

#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// Returns the transformer layers of each of nanotron's stages: stage s of P ends with the layer at
// which the weights of linear layers exceed s / P of all. It counts the head's, and those of
// attention as if each query head had a key and a value of its own (build_model of
// nanotron/models/base.py, get_block_compute_costs of nanotron/models/llama.py). `layers`: all
// transformer layers of the model. Returns an empty vector if a stage would have none, such as one
// with the head alone.
std::vector<int64_t> LayersByWeights(const LanguageModel& model, int64_t layers, int64_t stages);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_OWN_STAGES_H_
