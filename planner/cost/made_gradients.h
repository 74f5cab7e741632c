// Gradients that the backward pass makes, in place of gradients that are held all the time:
// docs/COST_MODEL.md, section 4.5.
#ifndef EVENKEEL_PLANNER_COST_MADE_GRADIENTS_H_
#define EVENKEEL_PLANNER_COST_MADE_GRADIENTS_H_

#include <cstdint>

#include "planner/cost/layer_cost.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Sets what the backward pass of a trained embedding holds on the only stage if its table is the
// head's too: without fusion into a buffer, the gradients of both uses and their sum.
void AddTableGradients(const Job& job, int64_t stages, LayerProfile* profile);

// Returns whether the profile's gradients are there only from its one backward pass on. Where the
// order of layers decides how much is there at once, the answer is no: gradients that count all the
// time are an upper bound. REQUIRES of a stage: no layer keeps less than one in front of it.
bool MadeInBackward(const Job& job, const LayerProfile& profile, const Parallelism& parallelism,
                    int64_t micro_batches);

// Makes the profile of a step with gradients held all the time that of a step for which
// MadeInBackward is true.
void MakeInBackward(const Job& job, int64_t stages, LayerProfile* profile);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MADE_GRADIENTS_H_
