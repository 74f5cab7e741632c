// The layers of the chain that are no transformer layers, as operations.
#ifndef EVENKEEL_PLANNER_COST_END_LAYERS_H_
#define EVENKEEL_PLANNER_COST_END_LAYERS_H_

#include "planner/catalog/specs.h"
#include "planner/cost/layer_builder.h"

namespace evenkeel::planner {

LayerWork PatchEmbeddingWork(const RankSetting& setting, const Encoder& encoder);
LayerWork ProjectorWork(const RankSetting& setting, const EncoderTower& tower, int64_t llm_hidden);
LayerWork TokenEmbeddingWork(const RankSetting& setting, const LanguageModel& model);

// Final norm, logits, loss, and the layers that predict further tokens (LanguageModel::
// predicted_tokens). With one stage a tied head has no weights of its own; with more it holds a
// copy of the embedding.
LayerWork HeadWork(const RankSetting& setting, const LanguageModel& model);

// What the head holds while it runs, besides what it keeps: at the loss, or while its product runs
// backward. docs/COST_MODEL.md, section 1.5.
struct HeadTransient {
  PackCost logits;     // bytes that logits, softmax and gradient take at the larger moment
  PackCost rest;       // bytes of gathered rows and their gradient then
  double weights = 0;  // bytes of the head's 16-bit weight gradient then
};
// `rows` of the pack that must fit.
HeadTransient HeadTransientOf(const RankSetting& setting, const LanguageModel& model,
                              const PackShape& largest);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_END_LAYERS_H_
