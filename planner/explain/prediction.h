// The prediction of a candidate: step time by part, epoch, GPU-days, utilisation.
#ifndef EVENKEEL_PLANNER_EXPLAIN_PREDICTION_H_
#define EVENKEEL_PLANNER_EXPLAIN_PREDICTION_H_

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

Prediction Predict(const Job& job, const Batching& batching, const LayerProfile& profile,
                   const Candidate& candidate);

// Fills in the step of mean packs and its lower bound under this cut, scaled to the batch that was
// asked for.
void FillStepBounds(const Job& job, const Batching& batching, const Candidate& candidate,
                    Proof* proof);

// Returns a summary of the candidate, for lists.
Alternative MakeAlternative(const Job& job, const Batching& batching, const Candidate& candidate,
                            const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EXPLAIN_PREDICTION_H_
