// Python text that several trainers' files share.
#ifndef EVENKEEL_PLANNER_LAUNCH_PYTHON_PARTS_H_
#define EVENKEEL_PLANNER_LAUNCH_PYTHON_PARTS_H_

#include <string>

#include "planner/launch/emitters.h"

namespace evenkeel::planner {

// Returns the definitions of LANGUAGE_RECOMPUTED, ENCODER_RECOMPUTED and recompute(language_layers,
// encoder_layers), which wraps those layers of two module lists. They depend on nothing above them.
std::string PythonRecompute(const RecomputedIndices& indices);

// A note on recompute() for models with several encoders.
inline constexpr const char* kEncodersInOrder =
    "encoder_layers are the layers of all of them, in this order.";

// Returns a comment and a docstring for the head of a file; `does` ends the first sentence of the
// docstring.
std::string PythonHead(const Trials& trials, const std::string& does);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_PYTHON_PARTS_H_
