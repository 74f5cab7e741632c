#include "planner/launch/python_parts.h"

namespace evenkeel::planner {

std::string PythonHead(const Trials& trials, const std::string& does) {
  return "# " + HeadLine(trials) + "\n\"\"\"" + does + "\"\"\"\n";
}

std::string PythonRecompute(const RecomputedIndices& indices) {
  return "# Layers that run forward again in the backward pass, by index from 0.\n"
         "LANGUAGE_RECOMPUTED = " +
         PythonList(indices.language) + "\nENCODER_RECOMPUTED = " + PythonList(indices.encoder) +
         R"(


def recompute(language_layers, encoder_layers=()):
    """Wraps the layers of two torch.nn.ModuleList that recompute; call it before sharding."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    for layers, indices in ((language_layers, LANGUAGE_RECOMPUTED), (encoder_layers, ENCODER_RECOMPUTED)):
        for i in indices:
            layers[i] = checkpoint_wrapper(layers[i])
)";
}

}  // namespace evenkeel::planner
