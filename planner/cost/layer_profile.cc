#include "planner/cost/layer_profile.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/network.h"
#include "planner/cost/transformer_layer.h"

namespace evenkeel::planner {
namespace {

constexpr double kBytes = 2;  // of a 16-bit value
constexpr double kAttentionBackward =
    2.5;  // flash attention backward over forward (Dao 2023, section 3.1)
constexpr int64_t kWeightBytes = 2;
constexpr int64_t kAdamBytes = 12;  // fp32 master weight and two moments

// More than any GPU holds (the contract ends at 2^42 bytes), and few enough that sums over a
// pipeline do not overflow.
constexpr int64_t kBytesAtMost = int64_t{1} << 43;

double D(int64_t v) { return static_cast<double>(v); }

int64_t Bytes(double value) { return std::min(Nearest(value), kBytesAtMost); }

// Times of one layer before they are split into forward and backward.
struct Work {
  PackCost matrices, streams, attention;
};

class ProfileBuilder {
 public:
  ProfileBuilder(const Job& job, const Parallelism& p, const PackShape& mean,
                 const PackShape& largest)
      : job_(job),
        p_(p),
        mean_(mean),
        largest_(largest),
        kernels_(job.cluster.gpu),
        network_(job.cluster) {}

  LayerProfile Build() {
    const LanguageModel& m = job_.model.language_model;
    if (!job_.model.towers.empty()) AddTower(job_.model.towers.front());
    AddTokenEmbedding(m);
    const int64_t dense = m.moe ? std::min(m.layers, m.moe->first_dense_layers) : m.layers;
    if (dense > 0) AddDecoderLayers(m, /*moe=*/false, dense);
    if (m.layers > dense) AddDecoderLayers(m, /*moe=*/true, m.layers - dense);
    AddHead(m);
    return std::move(profile_);
  }

 private:
  PackCost OverUnits(const Affine& a, double rows_per_unit) const {
    return {.constant = a.constant, .per_unit = a.per_row * rows_per_unit};
  }
  PackCost OverTokens(const Affine& a) const {
    return {.constant = a.constant, .per_token = a.per_row};
  }

  // Forward and backward from work, by what trains. Backward repeats each product for the input's
  // gradient where something before it trains, and for the weight's gradient where it trains
  // itself.
  void SetTimes(LayerCost& layer, const Work& work, TrainMode train) {
    layer.trains = train == TrainMode::kFull;
    const bool input_gradient = trained_before_;
    layer.has_backward = layer.trains || input_gradient;
    layer.recomputable = IsTransformerLayer(layer.kind) && layer.has_backward;
    layer.forward = work.matrices;
    layer.forward += work.streams;
    layer.forward += work.attention;
    layer.backward_flops_ratio = (input_gradient ? 1 : 0) + (layer.trains ? 1 : 0);
    if (layer.has_backward) {
      layer.backward = layer.backward_flops_ratio * work.matrices;
      layer.backward += 2 * work.streams;
      layer.backward += kAttentionBackward * work.attention;
    }
    trained_before_ = trained_before_ || layer.trains;
  }

  // Megatron sequence parallel: two all-gathers and two reduce-scatters of the layer's rows,
  // forward and backward alike.
  void SetCommunication(LayerCost& layer, double mean_rows, int64_t hidden, bool over_units) {
    if (p_.tensor == 1 || mean_rows <= 0) return;
    const double pass = network_.NodeCollective(p_.tensor, mean_rows * D(hidden) * kBytes);
    const double mean = over_units ? mean_.units : mean_.tokens;
    const double per = 4 * pass / mean;
    layer.forward_communication =
        over_units ? PackCost{.per_unit = per} : PackCost{.per_token = per};
    if (layer.has_backward) layer.backward_communication = layer.forward_communication;
  }

  void SetMemory(LayerCost& layer, double parameters, double activation, double checkpoint,
                 double workspace) {
    layer.parameters = std::min(Nearest(parameters), kBytesAtMost / kAdamBytes);
    layer.weight_bytes = layer.parameters * kWeightBytes;
    if (layer.trains) {
      layer.gradient_bytes = layer.parameters * (job_.training.distributed_gradients_fp32 ? 4 : 2);
      const int64_t optimizer = layer.parameters * kAdamBytes;
      layer.optimizer_bytes = job_.training.zero_stage == ZeroStage::kOptimizer
                                  ? CeilDivide(optimizer, p_.data)
                                  : optimizer;
    }
    if (layer.has_backward) {
      layer.activation_bytes = Bytes(activation);
      layer.checkpoint_bytes = std::min(layer.activation_bytes, Bytes(checkpoint));
      layer.workspace_bytes = Bytes(workspace);
    }
  }

  // What leaves a layer: rows of `width`, sharded by sequence parallel.
  void SetOutput(LayerCost& layer, double mean_rows, double largest_rows, int64_t width) {
    layer.mean_output_bytes = Nearest(mean_rows * D(width) * kBytes / D(p_.tensor));
    layer.output_bytes = Nearest(largest_rows * D(width) * kBytes / D(p_.tensor));
  }

  void Add(LayerCost layer, int64_t count) {
    PackCost forward = layer.forward, backward = layer.backward;
    forward += layer.forward_communication;
    backward += layer.backward_communication;
    layer.forward_ns = Nearest(forward.at(mean_));
    layer.backward_ns = layer.has_backward ? Nearest(backward.at(mean_)) : 0;
    profile_.kinds.push_back(layer);
    const int kind = static_cast<int>(profile_.kinds.size()) - 1;
    profile_.chain.insert(profile_.chain.end(), static_cast<size_t>(count), kind);
    if (IsTransformerLayer(layer.kind)) profile_.transformer_layers += count;
  }

  void AddTower(const EncoderTower& tower);
  void AddEncoderLayers(const Encoder& e, int64_t count);
  void AddProjector(const EncoderTower& tower);
  void AddTokenEmbedding(const LanguageModel& m);
  void AddDecoderLayers(const LanguageModel& m, bool moe, int64_t count);
  void AddHead(const LanguageModel& m);

  const Job& job_;
  const Parallelism& p_;
  const PackShape mean_;
  const PackShape largest_;
  const KernelTime kernels_;
  const Network network_;
  bool trained_before_ = false;
  LayerProfile profile_;
};

void ProfileBuilder::AddTower(const EncoderTower& tower) {
  const Encoder& e = tower.encoder;
  const double rows = D(e.tokens_per_unit);
  const int64_t patch_values = 3 * e.patch_pixels * e.patch_pixels * e.temporal_patch;
  LayerCost patch{.kind = LayerKind::kPatchEmbedding};
  Work work{.matrices = OverUnits(kernels_.Matrix(e.hidden, patch_values), rows)};
  SetTimes(patch, work, e.train);
  patch.forward_flops = {.per_unit = rows * 2 * D(e.hidden) * D(patch_values)};
  const int64_t position_rows = e.class_tokens + (e.learned_positions ? e.tokens_per_unit : 0);
  const double parameters = D(e.hidden) * D(patch_values + (e.patch_bias ? 1 : 0) + position_rows);
  SetMemory(patch, parameters, largest_.units * rows * D(patch_values) * kBytes, 0, 0);
  SetOutput(patch, mean_.units * rows, largest_.units * rows, e.hidden);
  Add(patch, 1);
  // The first encoder layer's input has no gradient to compute if nothing before it trains; the
  // others differ only then.
  AddEncoderLayers(e, e.layers);
  AddProjector(tower);
}

void ProfileBuilder::AddEncoderLayers(const Encoder& e, int64_t count) {
  const LayerWork w = EncoderLayerWork(e, p_.tensor, kernels_);
  const RankHeads heads = EncoderHeads(e, p_.tensor);
  const double rows = D(e.tokens_per_unit);
  LayerCost layer{.kind = LayerKind::kEncoder};
  const Work work{
      .matrices = OverUnits(w.matrices, rows),
      .streams = OverUnits(w.streams, rows),
      .attention = OverUnits(
          kernels_.EncoderAttention(heads.heads, heads.head_size, e.tokens_per_unit), rows)};
  SetTimes(layer, work, e.train);
  SetCommunication(layer, mean_.units * rows, e.hidden, /*over_units=*/true);
  const double attention_flops = 4.0 * D(e.heads) * D(e.head_dim) * rows;
  layer.forward_flops = {.per_unit = rows * (w.flops_per_row + attention_flops)};
  const double largest = largest_.units * rows;
  SetMemory(layer, w.parameters, largest * w.activation_bytes_per_row,
            largest * D(e.hidden) * kBytes / D(p_.tensor), largest * w.workspace_bytes_per_row);
  SetOutput(layer, mean_.units * rows, largest, e.hidden);
  Add(layer, count);
}

void ProfileBuilder::AddProjector(const EncoderTower& tower) {
  const Projector& p = tower.projector;
  const int64_t hidden = job_.model.language_model.hidden;
  const double rows = D(tower.encoder.llm_tokens_per_unit);
  LayerCost layer{.kind = LayerKind::kProjector};
  const int64_t inner = CeilDivide(p.hidden_width, p_.tensor);
  Affine matrices = kernels_.Matrix(inner, p.input_width);
  matrices += kernels_.Matrix(hidden, inner);
  const Work work{.matrices = OverUnits(matrices, rows),
                  .streams = OverUnits(
                      kernels_.MemoryBound(kBytes * (2 * D(p.input_width) + 2 * D(inner))), rows)};
  SetTimes(layer, work, p.train);
  layer.forward_flops = {.per_unit = rows * 2 * D(p.hidden_width) * D(p.input_width + hidden)};
  const double parameters = D(p.input_width) * D(inner) + D(inner) * D(hidden) + D(inner + hidden) +
                            (p.norm ? 2 * D(p.input_width) : 0);
  const double largest = largest_.units * rows;
  SetMemory(layer, parameters,
            largest * kBytes * (2 * D(p.input_width) / D(p_.tensor) + 2 * D(inner)), 0, 0);
  SetOutput(layer, mean_.units * rows, largest, hidden);
  Add(layer, 1);
}

void ProfileBuilder::AddTokenEmbedding(const LanguageModel& m) {
  LayerCost layer{.kind = LayerKind::kTokenEmbedding};
  const Work work{.streams =
                      OverTokens(kernels_.MemoryBound(2 * kBytes * D(m.hidden) / D(p_.tensor)))};
  SetTimes(layer, work, m.train);
  const double parameters = D(CeilDivide(m.vocab, p_.tensor) + m.learned_positions) * D(m.hidden);
  SetMemory(layer, parameters, largest_.tokens * 8, 0, 0);  // token ids
  SetOutput(layer, mean_.tokens, largest_.tokens, m.hidden);
  Add(layer, 1);
}

void ProfileBuilder::AddDecoderLayers(const LanguageModel& m, bool moe, int64_t count) {
  const LayerWork w = LanguageLayerWork(m, moe, p_.tensor, kernels_);
  const RankHeads heads = LanguageHeads(m, p_.tensor);
  const KernelTime::Causal core =
      kernels_.CausalAttention(heads.heads, heads.kv_heads, heads.head_size);
  LayerCost layer{.kind = moe ? LayerKind::kMoe : LayerKind::kDense};
  const Work work{
      .matrices = OverTokens(w.matrices),
      .streams = OverTokens(w.streams),
      .attention = {
          .constant = core.constant, .per_token = core.per_token, .per_squared = core.per_squared}};
  SetTimes(layer, work, m.train);
  SetCommunication(layer, mean_.tokens, m.hidden, /*over_units=*/false);
  // Causal: each token sees half of its sample.
  const double attention_flops = D(m.heads) * D(heads.head_size + heads.value_size);
  layer.forward_flops = {.per_token = w.flops_per_row, .per_squared = attention_flops};
  SetMemory(layer, w.parameters, largest_.tokens * w.activation_bytes_per_row,
            largest_.tokens * D(m.hidden) * kBytes / D(p_.tensor),
            largest_.tokens * w.workspace_bytes_per_row);
  SetOutput(layer, mean_.tokens, largest_.tokens, m.hidden);
  Add(layer, count);
}

void ProfileBuilder::AddHead(const LanguageModel& m) {
  const int64_t vocab = CeilDivide(m.vocab, p_.tensor);
  LayerCost layer{.kind = LayerKind::kHead};
  // Cross entropy reads and writes the logits a few times in fp32.
  const Work work{
      .matrices = OverTokens(kernels_.Matrix(vocab, m.hidden)),
      .streams = OverTokens(kernels_.MemoryBound(16.0 * D(vocab) + 3 * kBytes * D(m.hidden)))};
  SetTimes(layer, work, m.train);
  layer.forward_flops = {.per_token = 2 * D(m.vocab) * D(m.hidden)};
  const bool shared = m.tied_embeddings && p_.pipeline == 1;
  const double norm = D(m.norm == Norm::kLayerNorm ? 2 * m.hidden : m.hidden);
  const double parameters = (shared ? 0 : D(vocab) * D(m.hidden)) + norm;
  // Kept: input and output of the final norm, fp32 softmax. Transient: 16-bit logits and their
  // gradient.
  SetMemory(layer, parameters,
            largest_.tokens * (2 * kBytes * D(m.hidden) / D(p_.tensor) + 4.0 * D(vocab)), 0,
            largest_.tokens * 2 * kBytes * D(vocab));
  Add(layer, 1);
}

}  // namespace

LayerProfile BuildLayerProfile(const Job& job, const Parallelism& parallelism,
                               const PackShape& mean, const PackShape& largest) {
  return ProfileBuilder(job, parallelism, mean, largest).Build();
}

bool TensorParallelAllowed(const ModelSpec& model, int64_t tensor) {
  const LanguageModel& m = model.language_model;
  const bool kv = m.kv_heads % tensor == 0 || tensor % m.kv_heads == 0;
  return m.heads % tensor == 0 && (m.mla || kv) && m.hidden % tensor == 0;
}

}  // namespace evenkeel::planner
