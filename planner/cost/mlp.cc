// MLPs and mixtures of experts as operations: sections 1.1 and 1.4 of docs/COST_MODEL.md.
#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/expert_dispatch.h"
#include "planner/cost/transformer_layer.h"

namespace evenkeel::planner {
namespace {

// Bytes to route one row, per expert: fp32 logits and probabilities, their softmax and the map.
constexpr double kRoutingBytesPerExpert = 16;

// Small kernels that choose, count and sort: softmax, top-k, histogram, sort, scatter. Fitted,
// within 20 to 30, on the published MoE runs in tests/validation/runs.
constexpr int64_t kRoutingLaunches = 30;

// Rows of the fullest rank over the mean if no row is dropped. Fitted to Megatron's published runs
// of dropless routers early in training (1.0 to 1.9).
constexpr double kDroplessImbalance = 1.2;

// Bytes per routed value, forward and backward, of weighing and summing the experts' outputs in
// kernels of their own (grouped_mm_experts_forward of transformers/integrations/moe.py, 5.17),
// in addition to the ordering of rows. Fused kernels do all of it at once.
constexpr double kEagerCombine[] = {6, 14};

// Time of the products of the fullest rank over that of the mean if no row is dropped: half of what
// four pairs of runs of Qwen3 235B on 256 H100, 16 experts to a rank, with and without routing
// forced to balance, take longer (yanring/Megatron-MoE-ModelZoo, best_practice/qwen3). It is more
// than the rows that memory is for, as another rank is the fullest in each layer.
constexpr double kDroplessTime = 1.5;

// Returns the time of a rank's expert products over that of the mean rows.
double FullestRankTime(const RankSetting& setting) {
  const bool even = setting.parallelism.expert == 1 || setting.execution.expert_capacity > 0;
  return even ? 1 : kDroplessTime;
}

// Returns the rows that take memory, over the mean rows.
double HeldRows(const Execution& execution) {
  return execution.expert_capacity > 0 ? execution.expert_capacity : kDroplessImbalance;
}

// Up projections, activation, down projection of one MLP, or of all experts of a rank.
struct Products {
  int64_t hidden = 0;
  int64_t ffn = 0;       // of this rank
  double whole_ffn = 0;  // of the model, per row, for FLOPs
  double share = 1;      // rows of the products per row of the layer
  int64_t copies = 1;
  bool gated = false, bias = false, expert = false;
  // Gathers its input from, and scatters its output to, tensor-parallel ranks.
  bool gathers = false;
  double held = 1;          // rows held in memory over the mean
  double slower = 1;        // time of the products over that of the mean rows
  double input_values = 0;  // per row, kept by the first product
  RecomputeParts input_dropped_by = 0;
};

void AddProducts(LayerBuilder& b, const Products& p) {
  const double h = D(p.hidden), ups = p.gated ? 2 : 1;
  const double width = D(p.ffn) * p.share, held = width * p.held;
  const bool apart = p.gated && !FusesActivation(b.setting().execution);
  const double residual = h * b.shard(), rows = h * p.share * p.held;
  b.Begin(p.expert ? "experts up" : "mlp up", kMlp);
  b.KeepInput(p.input_values, kLoraMlpUp, p.input_dropped_by);
  if (p.expert) b.Offloads(kOffloadExpertFc1);
  if (p.gathers) b.TensorPass(h);
  b.AddLinear({.in = p.hidden,
               .out = p.ffn * (p.gated ? 2 : 1),
               .whole_flops = 2 * ups * h * p.whole_ffn,
               .bias = p.bias,
               .target = kLoraMlpUp,
               .share = p.share,
               .copies = p.copies,
               .expert = p.expert,
               .slower = p.slower,
               .products = {p.ffn, p.gated ? p.ffn : 0}});
  b.Transient(ups * held + (p.gathers ? 2 : 1) * rows + residual);

  b.Begin(p.expert ? "experts activation" : "activation", kMlp | kActivation);
  b.Keep(ups * held, kMlp);
  if (p.expert) b.Offloads(kOffloadMoeActivation);
  // Keeps the activation's value in addition to its product with the gate, or with the router's
  // probability. Fused kernels keep neither, but experts without a gate have no fused kernel.
  if (apart || (p.expert && !p.gated)) b.Keep(held, kMlp | kActivation);
  b.Stream((ups + 1 + (apart ? 2 : 0)) * width);
  b.Transient((ups + 1) * held + residual);

  b.Begin(p.expert ? "experts down" : "mlp down", kMlp);
  b.KeepInput(held, kLoraMlpDown, kMlp | kActivation);
  b.AddLinear({.in = p.ffn,
               .out = p.hidden,
               .whole_flops = 2 * h * p.whole_ffn,
               .bias = p.bias,
               .target = kLoraMlpDown,
               .share = p.share,
               .copies = p.copies,
               .expert = p.expert,
               .slower = p.slower});
  if (p.gathers) b.TensorPass(h);
  b.Transient(held + rows + residual);
}

// Scores `share` of the rows.
void AddRouter(LayerBuilder& b, int64_t hidden, const MoeSpec& moe, double share) {
  const double own = share / b.tensor();
  b.Begin("router", kMlp);
  b.AddLinear({.in = hidden,
               .out = moe.experts,
               .whole_flops = 2 * share * D(hidden) * D(moe.experts),
               .bias = moe.expert_bias,
               .share = own,
               .router = true});
  if (moe.router_scales) {
    b.AddParameters(D(hidden + moe.experts));
    b.Stream(2 * D(hidden) * own);
  }
  b.KeepBytes(b.PerRow(kRoutingBytesPerExpert * D(moe.experts) * own), kMlp);
  b.operation().launches += kRoutingLaunches;
  b.operation().host_waits = true;  // for the rows of each expert
}

// Returns the share of tokens that come from images: one token for each unit.
double ShareOfImages(const RankSetting& setting) {
  double tokens = 0, units = 0;
  for (const LengthBin& bin : setting.dataset.bins) {
    tokens += D(bin.count) * D(bin.llm_tokens);
    units += D(bin.count) * D(bin.units[0]);
  }
  return tokens > 0 ? std::min(1.0, units / tokens) : 0;
}

// Adds a projection between the hidden size and that of the experts, of a rank's share of the rows.
void AddProjection(LayerBuilder& b, const char* name, int64_t in, int64_t out, bool bias) {
  const double own = 1.0 / b.tensor();
  b.Begin(name, kMlp);
  b.AddLinear(
      {.in = in, .out = out, .whole_flops = 2 * D(in) * D(out), .bias = bias, .share = own});
  b.KeepInput(D(in) * own, 0, kMlp);
  b.Transient(D(in + out) * own);
}

void AddSharedExpert(LayerBuilder& b, const LanguageModel& m, const MoeSpec& moe) {
  b.SharedExpert();
  if (moe.shared_ffn > 0)
    AddProducts(b, {.hidden = m.hidden,
                    .ffn = CeilDivide(moe.shared_ffn, b.setting().parallelism.tensor),
                    .whole_ffn = D(moe.shared_ffn),
                    .gated = m.gated_mlp,
                    .bias = m.linear_bias,
                    .gathers = b.gathers()});
  if (!moe.shared_gate) return;
  b.Begin("shared gate", kMlp);
  b.operation().reads_own = true;  // its product with the expert's output
  b.AddParameters(D(m.hidden));
  b.Stream(3 * D(m.hidden));
}

}  // namespace

void AddResidual(LayerBuilder& b, int64_t hidden) {
  b.Begin("residual");
  const double rows = D(hidden) * b.shard();
  b.Stream(3 * rows);
  // The rows that are added to, and the sum, are fp32, and so are their gradients.
  if (b.setting().execution.autocast) b.StreamBytes(4 * rows, 6 * rows);
  if (b.setting().execution.dropout) b.Keep(D(hidden) * b.shard() / 2);  // a mask of bytes
}

void AddMlp(LayerBuilder& b, const MlpShape& s) {
  const int64_t t = b.setting().parallelism.tensor;
  if (s.own_norm) {
    b.Begin("mlp norm", kNorms | kMlp);
    b.AddNorm(s.norm, D(s.hidden), b.shard());
  }
  AddProducts(b, {.hidden = s.hidden,
                  .ffn = CeilDivide(s.ffn, t),
                  .whole_ffn = D(s.ffn),
                  .gated = s.gated,
                  .bias = s.bias,
                  .gathers = b.gathers(),
                  .input_values = D(s.hidden) * b.gathered_shard(),
                  .input_dropped_by = kNorms | kMlp});
  AddResidual(b, s.hidden);
}

// Adds the router, the dispatch to the ranks that hold a row's experts, their MLPs, the way back,
// and the shared MLP. Rows are spread evenly over experts: they are padded to capacity, or the
// router is balanced.
void AddExperts(LayerBuilder& b, const LanguageModel& m, const MoeSpec& moe) {
  const Parallelism& p = b.setting().parallelism;
  const int64_t expert_tensor =
      p.expert > 1 ? std::max<int64_t>(1, b.setting().execution.expert_tensor) : p.tensor;
  // Routed rows start as a tensor-parallel rank's share, even if norms are not sharded.
  const double own = 1.0 / D(p.tensor), k = D(moe.top_k), h = D(m.hidden);
  const int64_t width = moe.latent > 0 ? moe.latent : m.hidden;
  const double w = D(width);
  const auto project = [&](const char* name, int64_t in, int64_t out) {
    if (moe.latent > 0) AddProjection(b, name, in, out, m.linear_bias || moe.mlp_bias);
  };
  const double share = k * own * D(expert_tensor);
  const double held = HeldRows(b.setting().execution);
  b.Begin("mlp norm", kNorms | kMlp);
  b.AddNorm(m.norm, h, b.shard());
  b.Offloads(kOffloadMlpNorm);
  b.KeepInput(h * b.gathered_shard(), kLoraMlpUp, kNorms | kMlp);

  const double of_images = moe.image_ffn > 0 ? ShareOfImages(b.setting()) : 0;
  AddRouter(b, m.hidden, moe, 1 - of_images);
  if (moe.image_ffn > 0) AddRouter(b, m.hidden, moe, of_images);

  const RoutedRows routed{.top_k = moe.top_k,
                          .group = b.setting().network.ExpertGroup(p, expert_tensor)};
  const Dispatcher dispatcher = b.setting().execution.dispatcher;
  const double permuted = PermutedValues(dispatcher, routed);
  // The gradient of all gathered rows, and the experts' outputs added up by row.
  const double gathered = w * own * GatheredRows(dispatcher, p.expert);
  const auto exchange = [&] {
    b.Stream(permuted * w * own);
    b.ExpertExchange(w, moe.top_k);
    if (p.expert > 1) b.ExpertGather(expert_tensor, 2 * w * share);
  };
  project("latent down", m.hidden, width);
  b.Begin("dispatch", kMlp);
  exchange();
  b.Transient(2 * w * share * held + 2 * h * b.shard() + gathered);

  const auto experts = [&](int64_t ffn, double of_rows) {
    AddProducts(b, {.hidden = width,
                    .ffn = CeilDivide(ffn, expert_tensor),
                    .whole_ffn = of_rows * k * D(ffn),
                    .share = of_rows * share,
                    .copies = moe.experts / p.expert,
                    .gated = m.gated_mlp,
                    .bias = m.linear_bias || moe.mlp_bias,
                    .expert = true,
                    .held = held,
                    .slower = FullestRankTime(b.setting()),
                    .input_values = w * of_rows * share * held,
                    .input_dropped_by = kMlp});
  };
  experts(moe.expert_ffn, 1 - of_images);
  if (moe.image_ffn > 0) experts(moe.image_ffn, of_images);

  b.Begin("combine", kMlp);
  b.operation().reads_own = true;
  if (moe.latent > 0 && moe.latent_norm) b.AddNorm(m.norm, w, own);
  exchange();
  if (!b.setting().execution.fused_kernels)
    b.StreamBytes(kEagerCombine[0] * w * k * own, kEagerCombine[1] * w * k * own);
  b.Transient(3 * w * share * held + 2 * h * b.shard() + gathered);
  project("latent up", width, m.hidden);

  if (moe.shared_ffn > 0 || moe.shared_gate) AddSharedExpert(b, m, moe);
  AddResidual(b, m.hidden);
}

}  // namespace evenkeel::planner
