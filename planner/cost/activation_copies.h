// Layers and modules whose activations wait in host memory: docs/COST_MODEL.md, section 4.2.
#ifndef EVENKEEL_PLANNER_COST_ACTIVATION_COPIES_H_
#define EVENKEEL_PLANNER_COST_ACTIVATION_COPIES_H_

#include "planner/cost/layer_cost.h"
#include "planner/cost/pack_cost.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Returns the parts that an offloaded language layer recomputes: none, or the whole layer.
RecomputeParts PartsBesideOffload(const Job& job);

// Moves the kept tensors that the job offloads to the host, and adds the time that passes wait for
// the copies of LayerCost::copied.
void OffloadActivations(const Job& job, const PackShape& mean, LayerCost& layer);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_ACTIVATION_COPIES_H_
