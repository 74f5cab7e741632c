// Gradients that the backward pass makes, in place of gradients that are held all the time:
// docs/COST_MODEL.md, section 4.5.
#ifndef EVENKEEL_PLANNER_COST_MADE_GRADIENTS_H_
#define EVENKEEL_PLANNER_COST_MADE_GRADIENTS_H_

#include <cstdint>

#include "planner/cost/layer_cost.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Turns the profile of a step with gradients held all the time into that of this step, where its
// only backward pass makes them:
// - Through equal layers, most is held at one end of that pass. That needs an `ordered` stage: no
//   layer keeps less than one in front of it.
// - Through layers of any kind and order, each holds either its activations or its gradients. The
//   larger of both counts, which is an upper bound.
// - Where gradients have a pool of their own, the profile stays as it is, and says so.
// Also adds whole gradients where ranks accumulate these over several micro-batches
// (Execution::accumulates_whole_gradients), and sets what an embedding's backward pass holds on the
// only stage if its table is the head's too: without fusion into a buffer, the gradients of both
// uses and their sum.
void SetGradients(const Job& job, const Parallelism& parallelism, int64_t micro_batches,
                  bool ordered, LayerProfile* profile);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MADE_GRADIENTS_H_
