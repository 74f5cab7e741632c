// The kinds of layers that a model is a chain of.
#ifndef EVENKEEL_PLANNER_MODEL_LAYER_KIND_H_
#define EVENKEEL_PLANNER_MODEL_LAYER_KIND_H_

namespace evenkeel::planner {

// The kinds of layers in a pipeline. Encoder, dense and MoE layers are transformer layers and can
// be recomputed.
enum class LayerKind {
  kPatchEmbedding,
  kEncoder,
  kProjector,
  kTokenEmbedding,
  kDense,
  kMoe,
  kHead
};
inline bool IsTransformerLayer(LayerKind kind) {
  return kind == LayerKind::kEncoder || kind == LayerKind::kDense || kind == LayerKind::kMoe;
}
// Returns whether the layer belongs to an encoder or to its projector.
inline bool IsTowerLayer(LayerKind kind) {
  return kind == LayerKind::kPatchEmbedding || kind == LayerKind::kEncoder ||
         kind == LayerKind::kProjector;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MODEL_LAYER_KIND_H_
