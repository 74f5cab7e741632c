// Floating-point operations of a model, and the least time that GPUs need for them.
#ifndef EVENKEEL_PLANNER_COST_MODEL_FLOPS_H_
#define EVENKEEL_PLANNER_COST_MODEL_FLOPS_H_

#include "planner/cost/layer_profile.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Returns the FLOPs of a pack's forward and backward passes, without recompute.
double ModelFlops(const LayerProfile& profile, const PackShape& pack);

// Returns the peak rate of all GPUs of the job in FLOP/s, for products in the job's precision.
double PeakFlops(const Job& job);

// Returns a lower bound on the predicted seconds of all passes of so many samples with this mean,
// under every plan: all FLOPs at the peak rate, or at a higher rate if layers were measured to be
// quicker than the model predicts.
double LeastSeconds(const Job& job, const PackShape& mean_sample, double samples);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MODEL_FLOPS_H_
