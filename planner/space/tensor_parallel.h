// Which tensor-parallel degrees suit a model.
#ifndef EVENKEEL_PLANNER_SPACE_TENSOR_PARALLEL_H_
#define EVENKEEL_PLANNER_SPACE_TENSOR_PARALLEL_H_

#include <cstdint>

#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// Returns whether the model can be split over `tensor` ranks. Encoder heads are padded if they do
// not divide.
bool TensorParallelAllowed(const ModelSpec& model, int64_t tensor);

// Returns whether `context` ranks can share samples under that degree. They exchange heads for
// rows, except for attention that need not (`any_degree`).
bool ContextParallelAllowed(const ModelSpec& model, int64_t tensor, int64_t context,
                            bool any_degree);

// Returns how many neighbours of `context` ranks, of which `per_node` share a node, exchange heads
// where they do so only inside nodes: as many as divide the heads of every layer of a
// tensor-parallel rank, and the ranks of a node.
int64_t HeadRanks(const ModelSpec& model, int64_t tensor, int64_t context, int64_t per_node);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_TENSOR_PARALLEL_H_
