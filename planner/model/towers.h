// Figures over all encoders ("towers") of a model together.
#ifndef EVENKEEL_PLANNER_MODEL_TOWERS_H_
#define EVENKEEL_PLANNER_MODEL_TOWERS_H_

#include <cstdint>
#include <string>

#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// Returns the names of the encoders, joined by "+"; empty if the model has none.
std::string EncoderNames(const ModelSpec& model);

// Returns the tokens per unit that the encoder's projector gives: llm_tokens_per_unit, or all
// tokens of the encoder if layers of the language model attend to them.
int64_t GivenTokens(const Encoder& encoder);

// Returns the number of layers of all encoders.
int64_t EncoderLayers(const ModelSpec& model);

// Returns the format of frozen weights that is not 16 bits, if some component with adapters has
// one.
FrozenFormat FrozenFormatOf(const ModelSpec& model);

// Returns the tokens in the language model of one unit of every encoder together.
int64_t LlmTokensPerUnit(const ModelSpec& model);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MODEL_TOWERS_H_
