#include "planner/cost/transformer_layer.h"

#include <algorithm>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

constexpr double kBytes = 2;  // of a 16-bit value

// Collects one layer's parts. Widths are whole; sharding over `tensor` ranks happens here.
class Builder {
 public:
  Builder(int64_t tensor, const KernelTime& kernels)
      : tensor_(static_cast<double>(tensor)), kernels_(kernels) {}

  // A linear layer in -> out whose inner side (`rank_in` or `rank_out`) is sharded.
  void Linear(int64_t in, int64_t out, int64_t rank_in, int64_t rank_out, bool bias) {
    work_.matrices += kernels_.Matrix(rank_out, rank_in);
    work_.flops_per_row += 2.0 * D(in) * D(out);
    work_.parameters += D(rank_in) * D(rank_out) + (bias ? D(rank_out) : 0);
  }

  // Values per row that backward needs; sequence parallel shards those that tensor parallel does
  // not.
  void Keep(double values_per_row) {
    work_.activation_bytes_per_row += kBytes * values_per_row / tensor_;
  }
  void KeepOnRank(double values_per_row) {
    work_.activation_bytes_per_row += kBytes * values_per_row;
  }

  // Values per row read or written by memory-bound kernels on this rank.
  void Stream(double values_per_row) {
    work_.streams += kernels_.MemoryBound(kBytes * values_per_row);
  }

  void Norm(enum Norm norm, int64_t width) {
    work_.parameters += D(norm == Norm::kLayerNorm ? 2 * width : width);
    Keep(D(width));
    Stream(2 * D(width) / tensor_);
  }

  // Gated: act(x W1) * (x W2), else act(x W1); then W3. `share` of the rows visit it (experts).
  void Mlp(int64_t hidden, int64_t ffn, bool gated, bool bias) {
    const int64_t rank_ffn = CeilDivide(ffn, static_cast<int64_t>(tensor_));
    const int64_t ups = gated ? 2 : 1;
    for (int64_t i = 0; i < ups; ++i) Linear(hidden, ffn, hidden, rank_ffn, bias);
    Linear(ffn, hidden, rank_ffn, hidden, bias);
    KeepOnRank(D(ups + 1) * D(rank_ffn));  // up projections and the activation's output
    Stream(D(ups + 1) * D(rank_ffn));
    Widest(D(ups) * D(rank_ffn));
  }

  void Widest(double values_per_row) {
    work_.workspace_bytes_per_row =
        std::max(work_.workspace_bytes_per_row, kBytes * values_per_row);
  }

  static double D(int64_t value) { return static_cast<double>(value); }

  LayerWork& work() { return work_; }
  const KernelTime& kernels() const { return kernels_; }
  double tensor() const { return tensor_; }

 private:
  double tensor_;
  const KernelTime& kernels_;
  LayerWork work_;
};

// Norm, QKV, attention output projection, residual. Keeps: norm input and output, q, k, v,
// attention output.
void PlainAttention(Builder& b, int64_t hidden, int64_t heads, int64_t kv_heads,
                    const RankHeads& rank, bool qkv_bias, bool out_bias) {
  const int64_t q = heads * rank.head_size, kv = kv_heads * rank.head_size;
  const int64_t rank_q = rank.heads * rank.head_size, rank_kv = rank.kv_heads * rank.head_size;
  b.Linear(hidden, q + 2 * kv, hidden, rank_q + 2 * rank_kv, qkv_bias);
  b.Linear(q, hidden, rank_q, hidden, out_bias);
  b.Keep(Builder::D(hidden));                          // input of the QKV product
  b.KeepOnRank(Builder::D(2 * rank_q + 2 * rank_kv));  // q, k, v, attention output
  b.Stream(2 * Builder::D(rank_q + rank_kv));          // rotary or bias
  b.Stream(3 * Builder::D(hidden) / b.tensor());       // residual
  b.Widest(Builder::D(rank_q + 2 * rank_kv));
}

// DeepSeek's latent attention: low-rank projections, then heads of (nope + rope) and values of
// v_dim.
void LatentAttention(Builder& b, const LanguageModel& m, const MlaSpec& mla,
                     const RankHeads& rank) {
  const int64_t qk = mla.qk_nope_dim + mla.qk_rope_dim;
  const int64_t rank_q = rank.heads * qk, rank_v = rank.heads * mla.v_dim;
  if (mla.q_lora_rank > 0) {
    b.Linear(m.hidden, mla.q_lora_rank, m.hidden, mla.q_lora_rank, false);
    b.Linear(mla.q_lora_rank, m.heads * qk, mla.q_lora_rank, rank_q, false);
    b.Norm(m.norm, mla.q_lora_rank);
  } else {
    b.Linear(m.hidden, m.heads * qk, m.hidden, rank_q, false);
  }
  const int64_t latent = mla.kv_lora_rank + mla.qk_rope_dim;
  b.Linear(m.hidden, latent, m.hidden, latent, false);
  b.Norm(m.norm, mla.kv_lora_rank);
  b.Linear(mla.kv_lora_rank, m.heads * (mla.qk_nope_dim + mla.v_dim), mla.kv_lora_rank,
           rank.heads * (mla.qk_nope_dim + mla.v_dim), false);
  b.Linear(m.heads * mla.v_dim, m.hidden, rank_v, m.hidden, false);
  b.Keep(Builder::D(m.hidden + mla.q_lora_rank + latent));
  b.KeepOnRank(Builder::D(2 * rank_q + 2 * rank_v));  // q, k, v, attention output
  b.Stream(2 * Builder::D(2 * rank_q + rank_v));
  b.Stream(3 * Builder::D(m.hidden) / b.tensor());
  b.Widest(Builder::D(2 * rank_q + rank_v));
}

// Router, experts sharded by tensor parallel (expert parallel 1), shared expert. A token visits
// top_k experts.
void Experts(Builder& b, const LanguageModel& m, const MoeSpec& moe) {
  const double top_k = Builder::D(moe.top_k);
  b.Linear(m.hidden, moe.experts, m.hidden, moe.experts, moe.expert_bias);
  Builder one(static_cast<int64_t>(b.tensor()), b.kernels());
  one.Mlp(m.hidden, moe.expert_ffn, m.gated_mlp, m.linear_bias);
  const LayerWork& expert = one.work();
  LayerWork& work = b.work();
  // Each expert's products launch once, and each sees top_k / experts of the rows.
  work.matrices.constant += Builder::D(moe.experts) * expert.matrices.constant;
  work.matrices.per_row += top_k * expert.matrices.per_row;
  work.streams.constant += expert.streams.constant;
  work.streams.per_row += top_k * expert.streams.per_row;
  work.flops_per_row += top_k * expert.flops_per_row;
  work.parameters += Builder::D(moe.experts) * expert.parameters;
  work.activation_bytes_per_row += top_k * expert.activation_bytes_per_row;
  work.workspace_bytes_per_row =
      std::max(work.workspace_bytes_per_row, top_k * expert.workspace_bytes_per_row);
  b.Keep(2 * top_k * Builder::D(m.hidden));  // permuted inputs and outputs
  b.Stream(4 * top_k * Builder::D(m.hidden) / b.tensor());
  if (moe.shared_ffn > 0) b.Mlp(m.hidden, moe.shared_ffn, m.gated_mlp, m.linear_bias);
}

}  // namespace

RankHeads EncoderHeads(const Encoder& e, int64_t tensor) {
  const int64_t heads = CeilDivide(e.heads, tensor);
  return {heads, heads, e.head_dim, e.head_dim};
}

RankHeads LanguageHeads(const LanguageModel& m, int64_t tensor) {
  const int64_t heads = CeilDivide(m.heads, tensor);
  if (m.mla) return {heads, heads, m.mla->qk_nope_dim + m.mla->qk_rope_dim, m.mla->v_dim};
  return {heads, std::max<int64_t>(1, m.kv_heads / tensor), m.head_dim, m.head_dim};
}

LayerWork EncoderLayerWork(const Encoder& e, int64_t tensor, const KernelTime& kernels) {
  Builder b(tensor, kernels);
  const RankHeads rank = EncoderHeads(e, tensor);
  b.Norm(e.norm, e.hidden);
  PlainAttention(b, e.hidden, e.heads, e.heads, rank, e.qkv_bias, e.linear_bias);
  if (e.qk_norm) {
    const int64_t width = rank.heads * rank.head_size;
    b.work().parameters += 2 * Builder::D(e.norm == Norm::kLayerNorm ? 2 * width : width);
    b.KeepOnRank(2 * Builder::D(width));  // q and k before the norm
    b.Stream(4 * Builder::D(width));
  }
  b.Norm(e.norm, e.hidden);
  b.Keep(Builder::D(e.hidden));  // input of the MLP
  b.Mlp(e.hidden, e.ffn, e.gated_mlp, e.linear_bias);
  b.Stream(3 * Builder::D(e.hidden) / b.tensor());
  if (e.layer_scale) b.work().parameters += 2 * Builder::D(e.hidden);
  return b.work();
}

LayerWork LanguageLayerWork(const LanguageModel& m, bool moe, int64_t tensor,
                            const KernelTime& kernels) {
  Builder b(tensor, kernels);
  const RankHeads rank = LanguageHeads(m, tensor);
  b.Norm(m.norm, m.hidden);
  if (m.mla) {
    LatentAttention(b, m, *m.mla, rank);
  } else {
    PlainAttention(b, m.hidden, m.heads, m.kv_heads, rank, m.qkv_bias || m.linear_bias,
                   m.linear_bias);
    if (m.qk_norm) b.work().parameters += 2 * Builder::D(m.head_dim);
  }
  b.Norm(m.norm, m.hidden);
  b.Keep(Builder::D(m.hidden));
  if (moe) {
    Experts(b, m, *m.moe);
  } else {
    b.Mlp(m.hidden, m.ffn, m.gated_mlp, m.linear_bias);
  }
  b.Stream(3 * Builder::D(m.hidden) / b.tensor());
  return b.work();
}

}  // namespace evenkeel::planner
