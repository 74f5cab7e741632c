// Mixers with a state of fixed size as operations: section 1.3 of docs/COST_MODEL.md.
#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/transformer_layer.h"

namespace evenkeel::planner {
namespace {

// Tokens of a chunk, inside which the scan multiplies all pairs: flash-linear-attention, Mamba-2.
constexpr double kDeltaChunk = 64, kStatesChunk = 128, kLightningChunk = 256;

// Rate of Mamba-2's scan over that of a gated delta net's, and of Mamba's, whose work is no
// product. The first is measured on B200; the second is assumed. It is also assumed that Kimi Delta
// Attention runs at the rate of a gated delta net.
constexpr double kStatesRate = 0.73, kSelectiveRate = 0.3;

// Time of a scan's backward pass over that of its forward pass. That of gated delta nets was
// measured on H200 (tests/measure/h200.jsonl, section "recurrences"); others are assumed.
constexpr double kDeltaBackward = 2.3, kScanBackward = 2.5;

// One rank's share of a mixer.
struct Share {
  int64_t key_heads = 0, value_heads = 0;
  double keys = 0, values = 0;  // widths
};

Share ShareOf(const RecurrentSpec& r, int64_t ranks) {
  Share share{.key_heads = std::max<int64_t>(1, r.key_heads / ranks),
              .value_heads = CeilDivide(r.value_heads, ranks)};
  share.keys = D(share.key_heads * r.key_dim);
  share.values = D(share.value_heads * r.value_dim);
  return share;
}

// Returns the FLOPs of a scan per token.
double ScanFlops(const RecurrentSpec& r, const Share& share) {
  const double heads = D(share.value_heads), key = D(r.key_dim), value = D(r.value_dim);
  switch (r.scan) {
    case ScanKind::kSelective:  // decay, input and output of every state
      return 9 * share.values * key;
    case ScanKind::kStates:  // pairs by key head; then by value head pairs and states
      return 2 * kStatesChunk * share.keys + heads * (2 * kStatesChunk * value + 4 * key * value);
    case ScanKind::kGatedDelta:    // pairs of keys with queries and keys, the inverse's products,
    case ScanKind::kChannelDelta:  // states
      return heads * (2 * kDeltaChunk * (3 * key + 2 * value) + 6 * key * value);
    case ScanKind::kLightning:  // pairs of keys with queries and values, states
      return heads * (2 * kLightningChunk * (key + value) + 4 * key * value);
    case ScanKind::kConvolution:
      break;
  }
  return 0;
}

double RateOf(ScanKind scan) {
  switch (scan) {
    case ScanKind::kSelective:
      return kSelectiveRate;
    case ScanKind::kStates:
      return kStatesRate;
    case ScanKind::kGatedDelta:
    case ScanKind::kChannelDelta:
    case ScanKind::kLightning:
    case ScanKind::kConvolution:
      break;
  }
  return 1;
}

// The projections into the scan, and their output per row on this rank.
double AddInputs(LayerBuilder& b, const LanguageModel& m, const RecurrentSpec& r,
                 const Share& share, const Share& whole) {
  const double h = D(m.hidden);
  const auto widths = [&](const Share& s) {
    if (r.scan == ScanKind::kSelective) return 2 * s.values;
    if (r.scan == ScanKind::kChannelDelta)  // every rank has the whole low ranks
      return 2 * s.keys + s.values + (r.full_gate ? s.values : D(r.gate_rank)) +
             D(s.value_heads + r.gate_rank);
    if (r.scan == ScanKind::kLightning) return 2 * (s.keys + s.values);
    if (r.scan == ScanKind::kConvolution) return 3 * s.values;
    return 2 * (s.keys + s.values) +
           D((r.scan == ScanKind::kGatedDelta ? 2 : 1) * s.value_heads);  // steps, decays
  };
  b.Begin("mixer input");
  b.KeepInput(h * b.gathered_shard(), kLoraQkv, kNorms);
  if (b.gathers()) b.TensorPass(h);
  const double out = widths(share);
  b.AddLinear({.in = m.hidden,
               .out = static_cast<int64_t>(out),
               .whole_flops = 2 * h * widths(whole),
               .bias = r.linear_bias,
               .target = kLoraQkv});
  b.Transient(out + (b.gathers() ? 2 : 1) * h + h * b.shard());
  return out;
}

// Steps, keys and queries of Mamba, which its channels share.
void AddSteps(LayerBuilder& b, const RecurrentSpec& r, const Share& share, const Share& whole) {
  const int64_t width = r.step_rank + 2 * r.key_dim;
  b.Begin("steps");
  b.Keep(share.values);
  b.AddLinear({.in = static_cast<int64_t>(share.values),
               .out = width,
               .whole_flops = 2 * whole.values * D(width)});
  b.AddNorm(Norm::kRmsNorm, D(width), 1);
  b.Keep(D(r.step_rank));
  b.AddLinear({.in = r.step_rank,
               .out = static_cast<int64_t>(share.values),
               .whole_flops = 2 * D(r.step_rank) * whole.values,
               .bias = true});
  b.Transient(D(width) + share.values);
}

// Decays of every channel of the keys, and the gate, from their low ranks.
void AddGates(LayerBuilder& b, const RecurrentSpec& r, const Share& share, const Share& whole) {
  b.Begin("gates");
  b.KeepInput((r.full_gate ? 1 : 2) * D(r.gate_rank), 0);
  const auto up = [&](double width, double of_all) {
    b.AddLinear({.in = r.gate_rank,
                 .out = static_cast<int64_t>(width),
                 .whole_flops = 2 * D(r.gate_rank) * of_all});
  };
  up(share.keys, whole.keys);
  if (!r.full_gate) up(share.values, whole.values);
  b.AddParameters(share.keys);  // biases of the decays
  b.Keep(2 * share.keys);       // decays in fp32
  b.Stream(3 * share.keys);
  b.Transient(2 * share.keys + share.values);
}

// Context-parallel ranks exchange rows for heads before the scan, and back after it.
void ExchangeHeads(LayerBuilder& b, double inputs, double outputs) {
  const Parallelism& p = b.setting().parallelism;
  if (p.context == 1) return;
  const RankGroup group = b.setting().network.ContextGroup(p);
  b.Exchange(Collective::kAllToAll, group, 2 * inputs);
  b.Exchange(Collective::kAllToAll, group, 2 * outputs);
}

// Both gates and the values that they scale are kept, as are the input and the output of the
// convolution.
void AddGatedConvolution(LayerBuilder& b, const RecurrentSpec& r, const Share& share,
                         double inputs) {
  const double values = share.values;
  b.Begin("gate before the convolution");
  b.Keep(inputs);
  b.Stream(3 * values);
  b.Transient(inputs + values);
  b.Begin("short convolution");
  b.AddParameters(values * D(r.conv_width + (r.conv_bias ? 1 : 0)));
  b.Keep(2 * values);
  b.Stream(3 * values);
  b.Transient(2 * values);
  ExchangeHeads(b, inputs, values);
  b.Begin("gate behind the convolution");
  b.Keep(values);  // the input of the output projection
  b.Stream(3 * values);
  b.Transient(2 * values);
}

void AddOutput(LayerBuilder& b, const LanguageModel& m, const RecurrentSpec& r, const Share& share,
               const Share& whole, bool own_residual) {
  b.Begin("mixer output");
  b.AddLinear({.in = static_cast<int64_t>(share.values),
               .out = m.hidden,
               .whole_flops = 2 * D(m.hidden) * whole.values,
               .bias = r.linear_bias,
               .target = kLoraAttentionOut});
  if (b.gathers()) b.TensorPass(D(m.hidden));
  b.Transient(share.values + D(m.hidden) + D(m.hidden) * b.shard());
  if (own_residual) AddResidual(b, m.hidden);
}

}  // namespace

void AddRecurrent(LayerBuilder& b, const LanguageModel& m, const RecurrentSpec& r,
                  bool own_residual) {
  const Share whole = ShareOf(r, 1), share = ShareOf(r, b.setting().parallelism.tensor);
  const bool channels = r.scan == ScanKind::kChannelDelta;
  const bool delta = channels || r.scan == ScanKind::kGatedDelta;
  const bool selective = r.scan == ScanKind::kSelective;
  const bool lightning = r.scan == ScanKind::kLightning;
  b.Begin("input norm", kNorms);
  b.AddNorm(m.norm, D(m.hidden), b.shard());
  b.Transient(2 * D(m.hidden) * b.shard());
  const double inputs = AddInputs(b, m, r, share, whole);
  if (r.scan == ScanKind::kConvolution) {
    AddGatedConvolution(b, r, share, inputs);
    return AddOutput(b, m, r, share, whole, own_residual);
  }

  const double mixed = selective ? share.values : 2 * share.keys + share.values;
  b.Begin(lightning ? "activation" : "short convolution");
  if (!lightning) b.AddParameters(mixed * D(r.conv_width + (r.conv_bias ? 1 : 0)));
  b.Keep(mixed);
  b.Stream(3 * mixed);  // as measured on H100
  b.Transient(2 * mixed);
  if (selective) AddSteps(b, r, share, whole);
  if (channels) AddGates(b, r, share, whole);

  b.Begin("scan");
  // Each head has a decay, a bias of its step (kChannelDelta has those of channels) and the weight
  // of a skip.
  const double scalars = lightning ? 0 : channels ? 1 : delta ? 2 : 3;
  b.AddParameters(selective ? share.values * D(r.key_dim + 1) : scalars * D(share.value_heads));
  const double ns = b.setting().kernels.ScanTime(ScanFlops(r, share)) / RateOf(r.scan);
  b.operation().attention = b.PerRow(ns);
  b.operation().attention_gradients =
      b.PerRow((r.scan == ScanKind::kGatedDelta ? kDeltaBackward : kScanBackward) * ns);
  b.operation().flops += b.WholeRows(ScanFlops(r, whole));
  b.operation().launches += delta ? 6 : 4;
  // Mamba-2 runs its convolution again in the backward pass. Flash-linear-attention keeps queries,
  // keys, values, and of each chunk the inverse of its triangle; Mamba the steps.
  if (delta) b.Keep(mixed + kDeltaChunk * D(share.value_heads));
  if (selective) b.Keep(2 * share.values);
  if (lightning) b.Keep(mixed);
  if (!selective && !lightning) b.Keep(4 * D(share.value_heads));  // steps and decays in fp32
  b.Keep(share.values);
  b.Transient(2 * mixed + 2 * share.values);
  ExchangeHeads(b, inputs, share.values);

  b.Begin("gated norm");
  if (!selective && r.norm) b.AddParameters(delta ? D(r.value_dim) : share.values);
  b.Keep(2 * share.values);  // the gate, and the input of the output projection
  b.Stream(3 * share.values);
  b.Transient(2 * share.values);
  AddOutput(b, m, r, share, whole, own_residual);
}

}  // namespace evenkeel::planner
