// The layers that turn spectra into the tokens of an audio encoder, as matrix products.
#ifndef EVENKEEL_PLANNER_MODEL_AUDIO_FRONT_H_
#define EVENKEEL_PLANNER_MODEL_AUDIO_FRONT_H_

#include <cstdint>
#include <vector>

#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// A convolution, as a matrix product at each of its positions with the values that its kernel
// covers.
struct FrontLayer {
  int64_t in = 0, out = 0;
  int64_t positions = 1;  // per token of the encoder
  int64_t values = 0;     // values that it reads per token
  bool bias = true;
  bool norm = false;  // of its outputs, without biases
};

// First to last, into tokens of `hidden` channels.
std::vector<FrontLayer> FrontLayersOf(const AudioFront& front, int64_t hidden);

int64_t SpectraPerToken(const AudioFront& front);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MODEL_AUDIO_FRONT_H_
