// Work, weights and kept tensors of one transformer layer on one tensor-parallel rank:
// docs/COST_MODEL.md, section 1.
#ifndef EVENKEEL_PLANNER_COST_TRANSFORMER_LAYER_H_
#define EVENKEEL_PLANNER_COST_TRANSFORMER_LAYER_H_

#include <cstdint>

#include "planner/catalog/specs.h"
#include "planner/cost/kernel_time.h"

namespace evenkeel::planner {

// Everything but the attention core, which depends on sample lengths. A row is a token inside the
// layer.
struct LayerWork {
  Affine matrices;                      // forward time of matrix products
  Affine streams;                       // forward time of norms, activations, residuals
  double flops_per_row = 0;             // forward FLOPs of the matrix products, all ranks together
  double parameters = 0;                // on this rank
  double activation_bytes_per_row = 0;  // kept from forward to backward on this rank
  double workspace_bytes_per_row = 0;   // gradients of the widest intermediate on this rank
};

// Attention heads of one rank, padded where they do not divide.
struct RankHeads {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;  // width of queries and keys
  int64_t value_size = 0;
};

RankHeads EncoderHeads(const Encoder& encoder, int64_t tensor);
RankHeads LanguageHeads(const LanguageModel& model, int64_t tensor);

LayerWork EncoderLayerWork(const Encoder& encoder, int64_t tensor, const KernelTime& kernels);

// A decoder layer with one MLP, or with experts where `moe`.
LayerWork LanguageLayerWork(const LanguageModel& model, bool moe, int64_t tensor,
                            const KernelTime& kernels);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_TRANSFORMER_LAYER_H_
