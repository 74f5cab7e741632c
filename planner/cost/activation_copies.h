// Layers and modules whose activations wait in host memory: docs/COST_MODEL.md, section 4.2.
#ifndef EVENKEEL_PLANNER_COST_ACTIVATION_COPIES_H_
#define EVENKEEL_PLANNER_COST_ACTIVATION_COPIES_H_

#include "planner/cost/layer_cost.h"
#include "planner/cost/pack_cost.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Returns what an offloaded language layer recomputes: nothing, or the whole of it.
RecomputeParts PartsBesideOffload(const Job& job);

// Moves what the job offloads of a layer's kept tensors to the host, and adds the time that passes
// wait for copies (of LayerCost::copied).
void OffloadActivations(const Job& job, const PackShape& mean, LayerCost& layer);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_ACTIVATION_COPIES_H_
