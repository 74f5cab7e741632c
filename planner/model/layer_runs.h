// The layers of a language model as classes: how the layers differ, and the order in which they
// come.
#ifndef EVENKEEL_PLANNER_MODEL_LAYER_RUNS_H_
#define EVENKEEL_PLANNER_MODEL_LAYER_RUNS_H_

#include <cstdint>
#include <vector>

#include "planner/model/layer_kind.h"
#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// Returns whether the layer has only a mixer or only an MLP.
bool StandsAlone(const LanguageLayer& layer);

// Returns the norms over the width of a layer: LanguageModel::layer_norms, or half of them if it
// stands alone.
int64_t NormsOf(const LanguageModel& model, const LanguageLayer& layer);

// Returns the runs of the model, front to back, with every figure filled in. Neighbours differ.
std::vector<LayerRun> RunsOf(const LanguageModel& model);

// Returns the different layers of the model, in the order in which they first appear.
std::vector<LanguageLayer> ClassesOf(const LanguageModel& model);

// Returns the values per token that pass from one layer to the next: all residual streams, and what
// later layers read of the second embedding and of earlier keys and values. The latter two count at
// every layer, although some are no longer needed there, or do not exist yet.
int64_t PassedWidth(const LanguageModel& model);

// Returns the kind of a layer: with experts or dense.
LayerKind KindOf(const LanguageLayer& layer);

// Returns the number of layers of that kind.
int64_t CountLayers(const LanguageModel& model, LayerKind kind);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MODEL_LAYER_RUNS_H_
