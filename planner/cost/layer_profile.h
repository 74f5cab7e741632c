// The table that every search reads: the model as a chain of layers with the time, memory and
// traffic of each layer on one GPU under a tensor-parallel degree. The equations are in
// docs/COST_MODEL.md, sections 1 to 4.
#ifndef EVENKEEL_PLANNER_COST_LAYER_PROFILE_H_
#define EVENKEEL_PLANNER_COST_LAYER_PROFILE_H_

#include <cstdint>
#include <vector>

#include "planner/cost/layer_cost.h"
#include "planner/cost/pack_cost.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"
#include "planner/space/tensor_parallel.h"

namespace evenkeel::planner {

// Stands for any number of micro-batches above 1.
inline constexpr int64_t kSeveralMicroBatches = 2;

// Builds the table. `mean` is the pack whose time is optimised, `largest` the one that must fit in
// memory. `data` and `context` divide what the job's ZeroStage shards; `pipeline` matters for tied
// embeddings (which head and embedding share with one stage) and, with `virtual_stages`, for
// buffers. A layer's modes are the sets of parts on the lower convex hull of (repeated time, kept
// bytes): a mix of two of them over the layers is as good as any other set, to within one layer.
// `also` names further sets to keep, for plans that somebody else wrote; a mode added this way may
// take longer and keep more than its neighbour. Under RecomputePolicy::kOneSetting the modes are
// those of the trainer's settings instead (GivenModes). `micro_batches`, per rank and step, affect
// only gradients: with several, gradients are held during the whole step; with one, the backward
// pass makes them (SetGradients). `kept_ascends`: on every stage, no layer keeps less than an
// earlier layer of its class. Pass false if a caller's plan breaks this; gradients then get an
// upper bound.
LayerProfile BuildLayerProfile(const Job& job, const Parallelism& parallelism,
                               const PackShape& mean, const PackShape& largest,
                               const std::vector<RecomputeParts>& also = {},
                               int64_t micro_batches = kSeveralMicroBatches,
                               bool kept_ascends = true);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_LAYER_PROFILE_H_
