// The parts of a layer that can run forward again, their cost and the memory that they save:
// docs/COST_MODEL.md, section 1.7.
#ifndef EVENKEEL_PLANNER_COST_RECOMPUTE_MODES_H_
#define EVENKEEL_PLANNER_COST_RECOMPUTE_MODES_H_

#include <cstdint>
#include <vector>

#include "planner/cost/layer_cost.h"
#include "planner/cost/layer_operation.h"

namespace evenkeel::planner {

// The end of a layer's forward pass that a recompute of the whole layer leaves out.
struct Tail {
  PackCost compute, communication;  // ns
};

// Returns the costs of the operations after the last tensor that the backward pass needs: 0 unless
// work.stops_early.
Tail TailOf(const LayerWork& work, const PackShape& mean);

// Returns the bytes that a layer keeps from forward to backward if it recomputes `parts`.
PackCost KeptBytes(const LayerWork& work, RecomputeParts parts);

// Returns the bytes of the largest transient during a layer's backward pass, less the bytes that
// the operations after it have freed by then. At least 0.
double BackwardTransient(const LayerWork& work, const PackShape& largest);

// Returns all sets of the parts that the layer has. The MLP includes the activation, so no set
// names both. kAlternateProducts is in no set.
std::vector<RecomputeParts> PartSets(const LayerWork& work);

// Returns the modes that recompute nothing, everything, those of `sets` on the lower hull in
// between, and those of `also`. `workspace` bytes are held in addition.
std::vector<RecomputeMode> RecomputeModes(const LayerWork& work, const PackShape& mean,
                                          const PackShape& largest, double workspace,
                                          const std::vector<RecomputeParts>& sets,
                                          const std::vector<RecomputeParts>& also);

// Returns the modes that recompute nothing, `sets` and everything, in order of time, without sets
// that take as long as everything or keep as much as nothing. Beyond kModesAtMost, the slowest sets
// are left out, those of `also` last.
std::vector<RecomputeMode> GivenModes(const LayerWork& work, const PackShape& mean,
                                      const PackShape& largest, double workspace,
                                      const std::vector<RecomputeParts>& sets,
                                      const std::vector<RecomputeParts>& also);

// Returns the modes of layers when modules are offloaded: one that recomputes nothing and, if the
// layer has `parts`, one that recomputes them. Each mode has the shares of its kept bytes that the
// modules `moved` and `charged` place in host memory.
std::vector<RecomputeMode> ModesBesideModules(const LayerWork& work, const PackShape& mean,
                                              const PackShape& largest, double workspace,
                                              RecomputeParts parts, OffloadModules moved,
                                              OffloadModules charged);

// Returns the bytes of tensors that `modules` move, unless recomputing `parts` drops them.
PackCost MovedBytes(const LayerWork& work, RecomputeParts parts, OffloadModules modules);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_RECOMPUTE_MODES_H_
