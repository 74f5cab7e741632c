// What of a layer can run forward again, what that costs and saves: section 1.6 of
// docs/COST_MODEL.md.
#ifndef EVENKEEL_PLANNER_COST_RECOMPUTE_MODES_H_
#define EVENKEEL_PLANNER_COST_RECOMPUTE_MODES_H_

#include <cstdint>
#include <vector>

#include "planner/cost/layer_operation.h"

namespace evenkeel::planner {

// Bytes that a layer keeps from forward to backward, recomputing `parts`.
double KeptBytes(const LayerWork& work, RecomputeParts parts, const PackShape& largest);

// The largest sum of transients over a layer's backward pass, less what the operations behind have
// freed by then. At least 0.
double BackwardTransient(const LayerWork& work, const PackShape& largest);

// Nothing, everything, what lies on the lower hull between, and `also`. `workspace` bytes are held
// besides.
std::vector<RecomputeMode> RecomputeModes(const LayerWork& work, const PackShape& mean,
                                          const PackShape& largest, double workspace,
                                          const std::vector<RecomputeParts>& also);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_RECOMPUTE_MODES_H_
