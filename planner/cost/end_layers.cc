#include "planner/cost/end_layers.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/transformer_layer.h"
#include "planner/model/audio_front.h"
#include "planner/model/layer_runs.h"
#include "planner/model/towers.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kColours = 3;

int64_t RankVocabulary(const RankSetting& setting, const LanguageModel& m) {
  return CeilDivide(m.vocab, setting.parallelism.tensor);
}

// Returns the time of the head's products over that of products whose rows start at multiples of 16
// bytes, as the GPU's fast kernels need (cuBLAS: "Tensor Core usage" wants pointers and leading
// dimensions so aligned). Both factors are fitted on vTrain's runs, whose ranks have 50257 / t
// logits, on A100.
double Misaligned(const RankSetting& setting, int64_t vocab) {
  if (setting.pads_vocabulary || vocab % 8 == 0) return 1;
  return (vocab % 4 == 0 ? 1.9 : 2.7) * setting.cluster.gpu.costs.any_alignment_slowdown;
}

// Returns the bytes per logit at the loss. Megatron-Core holds 16-bit logits and an fp32 copy that
// becomes the softmax in place; TransformerEngine's fused loss works in place in 16 bit; compiled
// code holds one more fp32 copy.
double LossBytes(const Execution& e, int64_t tensor) {
  const double on_top = tensor > 1 ? e.tensor_loss_bytes_per_logit : 0;
  if (e.loss_bytes_per_logit > 0) return e.loss_bytes_per_logit + on_top;
  if (e.fused_loss) return 2 + on_top;
  return (e.compiled_loss ? 10 : 6) + on_top;
}

// Returns the part of LossBytes that stays until the backward pass.
double KeptLossBytes(const Execution& e) { return e.fused_loss ? 2 : 4; }

// Adds a weighted sum of the residual streams.
void AddStreamSum(LayerBuilder& b, const LanguageModel& m) {
  if (m.stream_kind == StreamKind::kAltUp) return AddStreamProjections(b, m);
  const int64_t n = m.streams;
  const double all = D(n * m.hidden) * b.shard();
  b.Begin("stream sum");
  if (m.stream_kind == StreamKind::kBlocks) {
    b.AddParameters((m.norm == Norm::kLayerNorm ? 3 : 2) * D(m.hidden));
    b.Stream(2 * all);
    return;
  }
  b.AddLinear(
      {.in = n * m.hidden, .out = n, .whole_flops = 2 * D(n * n * m.hidden), .share = b.shard()});
  b.AddParameters(D(n + 1));
  b.Keep(all);
  b.Stream(2 * all);
}

void AddFinalNormAndLogits(LayerBuilder& b, const LanguageModel& m, bool own_weights) {
  const int64_t vocab = RankVocabulary(b.setting(), m);
  if (m.streams > 1) AddStreamSum(b, m);
  b.Begin("final norm");
  b.AddNorm(m.norm, D(m.hidden), b.shard());
  b.Begin("logits");
  if (SavesHead(m)) {
    b.Keep(D(m.hidden) * b.gathered_shard());
  } else {
    b.KeepInput(D(m.hidden) * b.gathered_shard(), 0);
  }
  if (b.gathers()) b.TensorPass(D(m.hidden), /*in_16bit=*/true);
  b.AddLinear({.in = m.hidden,
               .out = vocab,
               .whole_flops = 2 * D(m.hidden) * D(m.vocab),
               .shared = !own_weights,
               .saved = SavesHead(m),
               .slower = Misaligned(b.setting(), vocab)});
  if (m.head_bias) b.AddParameters(D(vocab));
  b.Begin("loss");
  // Cross entropy reads and writes the logits a few times in fp32.
  b.Stream(8 * D(vocab));
}

void AddPredictedToken(LayerBuilder& b, const LanguageModel& m) {
  const double h = D(m.hidden), shard = b.shard();
  b.Begin("predicted token");
  b.AddNorm(m.norm, h, shard);
  b.AddNorm(m.norm, h, shard);
  b.KeepInput(2 * h * shard, 0);
  if (b.gathers()) b.TensorPass(2 * h, /*in_16bit=*/true);
  b.AddLinear({.in = 2 * m.hidden,
               .out = CeilDivide(m.hidden, b.setting().parallelism.tensor),
               .whole_flops = 4 * h * h});
  AddDecoderLayer(b, m, RunsOf(m).back().layer);
  AddFinalNormAndLogits(b, m, /*own_weights=*/false);
}

// Adds one projector. Its norm, if there is one, is over `norm_width` channels of each patch.
void AddProjector(LayerBuilder& b, const Projector& p, int64_t hidden, bool norm,
                  int64_t norm_width) {
  const int64_t tensor = b.setting().parallelism.tensor;
  const int64_t inner = CeilDivide(p.hidden_width, tensor);
  const double input = D(p.input_width) * b.shard();
  b.Begin("projector norm");
  if (norm) {
    b.AddNorm(p.norm_kind, D(norm_width), b.shard() * D(p.input_width) / D(norm_width));
  } else {
    b.Stream(2 * input);
  }
  const int64_t width = p.merging_width > 0 ? p.merging_width : p.input_width;
  if (p.merging_width > 0) {
    b.Begin("projector merge");
    b.KeepInput(input, 0);
    b.AddLinear(
        {.in = p.input_width, .out = width, .whole_flops = 2 * D(p.input_width) * D(width)});
    b.Transient(input + D(width));
  }
  const double rows = D(width) * b.shard();
  if (p.hidden_width == 0) {
    b.Begin("projector");
    b.KeepInput(rows, kLoraMlpUp);
    b.AddLinear({.in = width,
                 .out = CeilDivide(hidden, tensor),
                 .whole_flops = 2 * D(width) * D(hidden),
                 .bias = p.bias,
                 .target = kLoraMlpUp});
    b.Transient(rows + 2 * D(hidden));
    return;
  }
  b.Begin("projector up");
  b.KeepInput(rows, kLoraMlpUp);
  b.AddLinear({.in = width,
               .out = inner,
               .whole_flops = 2 * D(width) * D(p.hidden_width),
               .bias = p.bias,
               .target = kLoraMlpUp});
  b.Begin("projector activation");
  b.Keep(D(inner));
  b.Stream(2 * D(inner));
  b.Begin("projector down");
  b.KeepInput(D(inner), kLoraMlpDown);
  b.AddLinear({.in = inner,
               .out = hidden,
               .whole_flops = 2 * D(p.hidden_width) * D(hidden),
               .bias = p.bias,
               .target = kLoraMlpDown});
  b.Transient(2 * D(inner) + 2 * D(hidden));
}

// Adds a norm and a linear layer over `share` of the rows. Tensor-parallel ranks split it as it
// says.
void AddStep(LayerBuilder& b, const ProjectorStep& step, double share) {
  const int64_t tensor = b.setting().parallelism.tensor, wide = step.gated ? 2 : 1;
  const int64_t in = step.split == Split::kInputs ? CeilDivide(step.in, tensor) : step.in;
  const int64_t out = step.split == Split::kOutputs ? CeilDivide(step.out, tensor) : step.out;
  uint32_t target = 0;
  if (step.split == Split::kOutputs) target = kLoraMlpUp;
  if (step.split == Split::kInputs) target = kLoraMlpDown;
  b.Begin("projector");
  if (step.norm_width > 0)
    b.AddNorm(step.norm, D(step.norm_width),
              share * b.shard() * (step.in > 0 ? D(step.in) / D(step.norm_width) : 1));
  if (step.out == 0) return;
  b.KeepInput(D(in) * share * (step.split == Split::kInputs ? 1 : b.shard()), target);
  b.AddLinear({.in = in,
               .out = wide * out,
               .whole_flops = 2 * share * D(step.in) * D(wide * step.out),
               .bias = step.bias,
               .target = target,
               .share = share});
  if (step.split == Split::kOutputs) b.Keep(D(wide * out) * share);  // before the activation
  b.Stream(2 * D(wide * out) * share);
  b.Transient(share * (D(in) + 2 * D(wide * out)));
}

// The table of vectors for all layers, and a projection of the first embedding that is added.
void AddPerLayerTable(LayerBuilder& b, const LanguageModel& m, const PerLayerSpec& spec) {
  const int64_t tensor = b.setting().parallelism.tensor, width = m.layers * spec.width;
  const double shard = b.shard(), all = D(width) * shard;
  b.Begin("per-layer embedding");
  b.AddParameters(D(CeilDivide(spec.vocab, tensor)) * D(width));
  if (b.gathers()) b.TensorPass(D(width), /*in_16bit=*/true);
  b.KeepInput(D(m.hidden) * shard, 0);
  b.AddLinear(
      {.in = m.hidden, .out = width, .whole_flops = 2 * D(m.hidden) * D(width), .share = shard});
  b.AddParameters(D(spec.width));
  b.Keep(2 * all);  // before the norm, and what layers read
  b.Stream(6 * all);
  b.Transient(2 * all);
}

// Activations are left out between two convolutions, whose outputs are no wider than the layers'.
LayerWork AudioFrontWork(const RankSetting& setting, const Encoder& e, size_t index) {
  LayerBuilder b(setting, UnitRows(index, e.tokens_per_unit, setting.unit_share), e.train, {});
  b.Begin("convolutions");
  int64_t widest = 0;
  for (const FrontLayer& layer : FrontLayersOf(e.front, e.hidden)) {
    b.KeepInput(D(layer.values), 0);
    b.AddLinear({.in = layer.in,
                 .out = layer.out,
                 .whole_flops = 2 * D(layer.positions) * D(layer.out) * D(layer.in),
                 .bias = layer.bias,
                 .share = D(layer.positions)});
    if (layer.norm) b.AddParameters(D(layer.out));
    if (e.front.channels == 0 || (!layer.bias && !layer.norm)) continue;
    const int64_t outputs = layer.positions * layer.out;
    b.Keep(D(outputs));
    b.Stream(2 * D(outputs));
    widest = std::max(widest, outputs);
  }
  if (widest > 0) b.Transient(2 * D(widest));
  b.AddParameters(D(e.other_parameters));
  return b.Finish(D(SpectraPerToken(e.front) * e.front.mel_bins));
}

}  // namespace

LayerWork PatchEmbeddingWork(const RankSetting& setting, const Encoder& e, size_t index) {
  if (e.modality == Modality::kAudio) return AudioFrontWork(setting, e, index);
  LayerBuilder b(setting, UnitRows(index, e.tokens_per_unit, setting.unit_share), e.train, {});
  const int64_t patch = kColours * e.patch_pixels * e.patch_pixels * e.temporal_patch;
  const int64_t rows = e.class_tokens + (e.learned_positions ? e.tokens_per_unit : 0);
  b.Begin("patches");
  b.KeepInput(D(patch), 0);
  b.AddLinear({.in = patch,
               .out = e.hidden,
               .whole_flops = 2 * D(e.hidden) * D(patch),
               .bias = e.patch_bias});
  b.AddParameters(D(rows) * D(e.hidden) + D(e.other_parameters));
  return b.Finish(D(patch));
}

LayerWork ProjectorWork(const RankSetting& setting, const EncoderTower& tower, size_t index,
                        int64_t hidden) {
  const Projector& p = tower.projector;
  LayerBuilder b(setting, UnitRows(index, GivenTokens(tower.encoder), setting.unit_share), p.train,
                 p.lora);
  if (p.steps.empty()) {
    AddProjector(b, p, hidden, p.norm, p.norm_width > 0 ? p.norm_width : p.input_width);
    for (int64_t i = 0; i < p.deep_stacked; ++i)
      AddProjector(b, p, hidden, /*norm=*/true, p.input_width);
  }
  const double given = D(GivenTokens(tower.encoder));
  for (const ProjectorStep& step : p.steps) AddStep(b, step, D(step.rows) / given);
  if (p.resampler.layers > 0) AddResampler(b, p.resampler);
  if (setting.encoder_group.ranks > 1) {
    // The pack's embeddings come together after the projectors, and their gradients before them.
    const double width = D((1 + p.deep_stacked) * hidden) / setting.unit_share;
    b.Begin("embeddings of all ranks");
    b.Exchange(Collective::kAllGather, setting.encoder_group, kValueBytes * width);
    b.Transient(width);
  }
  return b.Finish(D(p.input_width));
}

LayerWork TokenEmbeddingWork(const RankSetting& setting, const LanguageModel& m) {
  LayerBuilder b(setting, TokenRows(setting.parallelism), m.train, {});
  b.Begin("token embedding");
  if (SavesEmbedding(m)) {
    b.AddSaved(D(RankVocabulary(setting, m)) * D(m.hidden));
    b.AddParameters(D(m.learned_positions + m.more_rows) * D(m.hidden));
  } else {
    b.AddParameters(D(RankVocabulary(setting, m) + m.learned_positions + m.more_rows) *
                    D(m.hidden));
  }
  b.Stream(2 * D(m.hidden) * b.shard());
  if (m.embedding_norm) b.AddNorm(m.norm, D(m.hidden), b.shard());
  if (b.gathers()) b.TensorPass(D(m.hidden), /*in_16bit=*/true);
  b.Keep(4);  // token ids of 8 bytes
  if (setting.execution.dropout) b.Keep(D(m.hidden) * b.shard() / 2);
  if (m.stream_kind == StreamKind::kAltUp) {
    AddStreamProjections(b, m);
  } else if (m.streams > 1 && m.stream_kind == StreamKind::kHyper) {
    b.Stream(D((m.streams + 1) * m.hidden) * b.shard());
  }
  if (m.per_layer) AddPerLayerTable(b, m, *m.per_layer);
  return b.Finish(4);
}

LayerWork HeadWork(const RankSetting& setting, const LanguageModel& m) {
  LayerBuilder b(setting, TokenRows(setting.parallelism), m.train, m.lora);
  const bool one_stage = setting.parallelism.pipeline == 1;
  AddFinalNormAndLogits(b, m, /*own_weights=*/!(m.tied_embeddings && one_stage));
  for (int64_t i = 0; i < m.predicted_tokens; ++i) AddPredictedToken(b, m);
  // Predicted tokens are embedded on the last stage, so it holds the table; a tied head is that
  // table.
  if (m.predicted_tokens > 0 && !one_stage && !m.tied_embeddings) {
    const double table = D(RankVocabulary(setting, m)) * D(m.hidden);
    SavesEmbedding(m) ? b.AddSaved(table) : b.AddParameters(table);
  }
  return b.Finish(D(m.hidden));
}

double HeadWeightBytes(const RankSetting& setting, const LanguageModel& m) {
  return kValueBytes * D(RankVocabulary(setting, m)) * D(m.hidden);
}

HeadTransient HeadTransientOf(const RankSetting& setting, const LanguageModel& m,
                              const PackShape& largest) {
  const Execution& e = setting.execution;
  const double vocab = D(RankVocabulary(setting, m)), h = D(m.hidden);
  const Rows rows = TokenRows(setting.parallelism);
  const auto per_row = [&](double bytes) { return PackCost{.per_token = rows.share * bytes}; };
  const bool gathers = setting.parallelism.tensor > 1;
  const double earlier = D(m.predicted_tokens) * KeptLossBytes(e);
  const double loss = LossBytes(e, setting.parallelism.tensor);
  HeadTransient forward{.logits = per_row((loss + earlier) * vocab),
                        .rest = per_row(gathers ? kValueBytes * h : 0)};
  // Backward holds the 16-bit gradient of the logits, the gathered rows and the gradient of the
  // rows. A loss that holds a part of the logits holds a part of their gradient.
  HeadTransient backward{.logits = per_row((std::min(kValueBytes, loss) + earlier) * vocab),
                         .rest = per_row(kValueBytes * h * (gathers ? 2 : 1)),
                         .weight_gradient = m.train == TrainMode::kFull || SavesHead(m)
                                                ? HeadWeightBytes(setting, m)
                                                : 0};
  const auto bytes = [&](const HeadTransient& t) {
    return t.logits.at(largest) + t.rest.at(largest) + t.weight_gradient;
  };
  return bytes(forward) >= bytes(backward) ? forward : backward;
}

}  // namespace evenkeel::planner
