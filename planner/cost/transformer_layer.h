// The operations of one transformer layer on one GPU: docs/COST_MODEL.md, section 1.
#ifndef EVENKEEL_PLANNER_COST_TRANSFORMER_LAYER_H_
#define EVENKEEL_PLANNER_COST_TRANSFORMER_LAYER_H_

#include <cstdint>

#include "planner/cost/layer_builder.h"
#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// Attention heads of one tensor-parallel rank, padded if they do not divide.
struct RankHeads {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;  // width of queries and keys
  int64_t value_size = 0;
};

RankHeads EncoderHeads(const Encoder& encoder, int64_t tensor);
RankHeads LanguageHeads(const LanguageModel& model, const LanguageLayer& layer, int64_t tensor);

// Returns a layer of the encoder. At native resolution its attention covers a window or the whole
// image, as `windowed` says. `index` is the encoder's index in the model.
LayerWork EncoderLayerWork(const RankSetting& setting, const Encoder& encoder, size_t index,
                           bool windowed);

// Returns a layer of the model. REQUIRES: `layer` comes from RunsOf, so all its figures are filled
// in.
LayerWork DecoderLayerWork(const RankSetting& setting, const LanguageModel& model,
                           const LanguageLayer& layer);
// Adds the operations of DecoderLayerWork after those that the builder already holds.
void AddDecoderLayer(LayerBuilder& b, const LanguageModel& model, const LanguageLayer& layer);

// Returns the rows of an encoder's layers on one rank, which encodes `share` of a pack's units.
Rows UnitRows(size_t encoder, int64_t rows_per_unit, double share);
// Returns the rows of the language model on one rank.
Rows TokenRows(const Parallelism& parallelism);

// The attention of a layer: docs/COST_MODEL.md, section 1.2.
struct AttentionShape {
  int64_t hidden = 0;
  int64_t heads = 0, kv_heads = 0;  // of the model
  RankHeads rank;
  bool qkv_bias = false, out_bias = false;
  bool key_bias = true;     // if qkv_bias: keys have a bias too
  bool head_norm = false;   // norm of queries and keys over each head
  bool width_norm = false;  // norm of queries and keys over the width of all heads
  Norm norm = Norm::kRmsNorm;
  bool rotary = true;
  // Full attention over sequences of this many rows; 0 for causal attention over samples.
  int64_t sequence = 0;
  // Which of the earlier rows causal attention sees.
  AttentionKind kind = AttentionKind::kFull;
  int64_t window = 0;
  // Compressed entries that causal attention also sees: LanguageLayer::entry_tokens and `entries`.
  int64_t entry_tokens = 0, entries = 0;
  bool sinks = false;
  bool gated = false;  // by a projection of the layer's input
  KeyValues key_values = KeyValues::kProjected;
  IndexSpec index = {};   // read only for kIndexed; without heads: no index
  bool own_input = true;  // if false, a parallel mixer has read the norm, and adds the residual
};
void AddAttention(LayerBuilder& b, const AttentionShape& shape);
// Adds attention that also sees compressed tokens.
void AddCompressedAttention(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer,
                            const CompressedSpec& spec);
// Adds heads that score all entries before a token, in products with one key per `entry_tokens`.
void AddIndexScores(LayerBuilder& b, int64_t heads, int64_t head_dim, int64_t entry_tokens);
void AddLatentAttention(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer,
                        const MlaSpec& mla);
// Adds a mixer whose state does not grow with the sample: docs/COST_MODEL.md, section 1.3.
// With `own_residual` off, a parallel mixer adds the residual.
void AddRecurrent(LayerBuilder& b, const LanguageModel& m, const RecurrentSpec& recurrent,
                  bool own_residual = true);
// Adds scores, softmax and their product with the values, for existing queries, keys and values.
// Reads heads, rank, sequence, kind and window of the shape.
void AddCoreAttention(LayerBuilder& b, const AttentionShape& shape,
                      RecomputeParts inputs_dropped_by);
// Keeps the input of attention's output projection. Fused attention keeps it in 16 bits for itself.
void KeepOutputInput(LayerBuilder& b, const RankHeads& rank);
// Adds attention to the tokens that the last encoder gives.
void AddCrossAttention(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer);
// Adds the layers in which a projector's latents attend to the encoder's tokens. Its rows are those
// of the latents.
void AddResampler(LayerBuilder& b, const ResamplerSpec& resampler);
// Add the two parts that only a conformer's layer has: the MLP before attention, and the
// convolution.
void AddFirstMlp(LayerBuilder& b, const Encoder& e);
void AddConvolution(LayerBuilder& b, const Encoder& e);

// Norm, MLP and residual.
struct MlpShape {
  int64_t hidden = 0, ffn = 0;
  bool gated = false, bias = false;
  Norm norm = Norm::kRmsNorm;
  bool own_norm = true;  // if false, it reads the output of the norm before attention
};
void AddMlp(LayerBuilder& b, const MlpShape& shape);
void AddExperts(LayerBuilder& b, const LanguageModel& m, const MoeSpec& moe);

// Adds a hyper-connection, which reads, mixes and writes the residual streams around one mixer or
// MLP.
void AddHyperConnection(LayerBuilder& b, const LanguageModel& m);
// Adds an alternating update, which predicts and corrects all streams around a layer.
void AddAlternatingUpdate(LayerBuilder& b, const LanguageModel& m);
// Adds the projections into all streams but one, or out of them.
void AddStreamProjections(LayerBuilder& b, const LanguageModel& m);

// Adds x + dropout(y), which keeps the mask.
void AddResidual(LayerBuilder& b, int64_t hidden);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_TRANSFORMER_LAYER_H_
