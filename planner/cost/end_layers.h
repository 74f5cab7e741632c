// The operations of the layers of the chain that are not transformer layers.
#ifndef EVENKEEL_PLANNER_COST_END_LAYERS_H_
#define EVENKEEL_PLANNER_COST_END_LAYERS_H_

#include "planner/cost/layer_builder.h"
#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// `index` is the encoder's index in the model.
LayerWork PatchEmbeddingWork(const RankSetting& setting, const Encoder& encoder, size_t index);
LayerWork ProjectorWork(const RankSetting& setting, const EncoderTower& tower, size_t index,
                        int64_t llm_hidden);
LayerWork TokenEmbeddingWork(const RankSetting& setting, const LanguageModel& model);

// Returns the final norm, the logits, the loss and the layers that predict further tokens
// (LanguageModel::predicted_tokens). A tied head has no weights of its own with one stage, and
// holds a copy of the embedding with more.
LayerWork HeadWork(const RankSetting& setting, const LanguageModel& model);

// The memory that the head holds only while it runs, at the larger of two moments: the loss and the
// backward pass of its product. docs/COST_MODEL.md, section 1.6.
struct HeadTransient {
  PackCost logits;             // bytes of the logits, their softmax and gradient
  PackCost rest;               // bytes of the gathered rows and their gradient
  double weight_gradient = 0;  // bytes of the head's weight gradient in 16 bits
};
// Returns the transient of `largest`, the pack that must fit.
HeadTransient HeadTransientOf(const RankSetting& setting, const LanguageModel& model,
                              const PackShape& largest);

// Returns the bytes of the head's 16-bit weights on one tensor-parallel rank, its own or a table
// that it shares.
double HeadWeightBytes(const RankSetting& setting, const LanguageModel& model);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_END_LAYERS_H_
