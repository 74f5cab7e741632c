// Which tensor- and context-parallel degrees suit a model.
#ifndef EVENKEEL_PLANNER_SPACE_TENSOR_PARALLEL_H_
#define EVENKEEL_PLANNER_SPACE_TENSOR_PARALLEL_H_

#include <cstdint>

#include "planner/model/model_spec.h"
#include "planner/trainer/execution.h"

namespace evenkeel::planner {

// Returns whether the model can be split over `tensor` ranks. Encoder heads are padded if they do
// not divide.
bool TensorParallelAllowed(const ModelSpec& model, int64_t tensor);

// How context-parallel ranks run attention.
struct ContextRules {
  ContextKind kind = ContextKind::kUlysses;
  bool transformer_engine = false;  // Trainer::transformer_engine_context
  int64_t ranks_per_node = 1;       // of a context group
};

// Returns how many neighbours of `context` ranks exchange heads: all, 1, or where they do so only
// inside nodes, as many as divide the heads of every layer of a tensor-parallel rank and the ranks
// of a node.
int64_t HeadRanks(const ModelSpec& model, int64_t tensor, int64_t context,
                  const ContextRules& rules);

// Why `context` ranks cannot share samples under a tensor-parallel degree.
enum class ContextFault {
  kNone,
  kRecurrentHeads,  // they do not divide the heads of a tensor rank's recurrent layers
  kHeads,           // they do not divide the attention heads of a tensor rank
  kKeyValueHeads,   // they do not divide its key and value heads
  kWindows,         // TransformerEngine has no ring for attention with windows
  kSinks            // TransformerEngine has neither a ring nor gathers for attention with sinks
};
ContextFault ContextFaultOf(const ModelSpec& model, int64_t tensor, int64_t context,
                            const ContextRules& rules);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_TENSOR_PARALLEL_H_
