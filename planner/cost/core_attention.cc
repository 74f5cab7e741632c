// The products of queries, keys and values: sections 1.2 and 2.2 of docs/COST_MODEL.md.
#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/cost/transformer_layer.h"

namespace evenkeel::planner {
namespace {

// Heads that one context-parallel rank works on. Ranks that exchange heads for rows each have some
// of them; key and value heads are copied if there are fewer than ranks.
struct CoreHeads {
  int64_t heads = 0, kv_heads = 0;
  // Share of the whole samples' attention that the rank computes with these heads.
  double share = 1;
};

CoreHeads HeadsOf(const LayerBuilder& b, const RankHeads& rank, bool causal) {
  const Parallelism& p = b.setting().parallelism;
  if (!causal || p.context == 1) return {rank.heads, rank.kv_heads, 1};
  const int64_t ranks = b.setting().head_ranks;
  return {std::max<int64_t>(1, rank.heads / ranks), std::max<int64_t>(1, rank.kv_heads / ranks),
          1 / D(p.context / ranks)};
}

// Adds the exchange between context-parallel ranks: heads (inputs and outputs), and keys and
// values. A ring exchanges these while ranks work on those that they already have, an all-gather
// before.
void AddContextExchange(LayerBuilder& b, const RankHeads& rank) {
  const Parallelism& p = b.setting().parallelism;
  if (p.context == 1) return;
  const int64_t head_ranks = b.setting().head_ranks, rings = p.context / head_ranks;
  const SplitGroups split = SplitBy(b.setting().network.ContextGroup(p), head_ranks);
  const double width = D(rank.head_size + rank.value_size);
  if (head_ranks > 1) {
    const double q = D(rank.heads) * D(rank.head_size), out = D(rank.heads) * D(rank.value_size);
    b.Exchange(Collective::kAllToAll, split.inside, 2 * (q + D(rank.kv_heads) * width));
    b.Exchange(Collective::kAllToAll, split.inside, 2 * out);
  }
  if (rings == 1) return;
  // The rank's own rows, and the rows that it received in exchange for heads.
  const double kv = D(std::max(head_ranks, rank.kv_heads)) * width;
  const bool gathers = b.setting().execution.context == ContextKind::kAllGather;
  const double exposed = b.Exchange(Collective::kAllGather, split.across, 2 * kv * D(rings),
                                    gathers ? 0 : b.operation().attention.at(b.setting().mean));
  // The backward pass gathers again, and reduces the gradients of all.
  if (gathers) b.AddGradientExchange(exposed);
}

// Squares of sample lengths of which causal attention computes half, as a sum over tokens and
// squared lengths.
struct SeenSquares {
  double per_token = 0, per_squared = 1;
};

// Returns the part of the squared tokens of a sample that the kind of attention computes.
double SquaresSeen(AttentionKind kind, double window, double tokens) {
  if (kind == AttentionKind::kFull || tokens <= window) return tokens * tokens;
  if (kind == AttentionKind::kWindow || kind == AttentionKind::kIndexed)
    return window * (2 * tokens - window);
  const double chunks = std::floor(tokens / window), rest = tokens - chunks * window;
  return chunks * window * window + rest * rest;
}

// SquaresSeen for attention to entries of `entry_tokens` tokens each. A token sees at most
// `entries` of them (0: all).
double EntriesSeen(double entry_tokens, double entries, double tokens) {
  if (entry_tokens == 0) return 0;
  const double most = entries * entry_tokens;  // tokens, from which on entries are picked
  const double seen = entries == 0 || tokens <= most ? tokens * tokens : most * (2 * tokens - most);
  return seen / entry_tokens;
}

// Returns the least-squares line through the samples of the dataset that has their exact sum.
// Without a dataset, all samples have the length that the mean pack tells.
SeenSquares SeenSquaresOf(const RankSetting& setting, const AttentionShape& shape) {
  if (shape.kind == AttentionKind::kFull) return {};
  const auto seen_of = [&](double length) {
    return SquaresSeen(shape.kind, D(shape.window), length) +
           EntriesSeen(D(shape.entry_tokens), D(shape.entries), length);
  };
  double tokens = 0, squares = 0, seen = 0;
  const auto visit = [&](const auto& add) {
    for (const LengthBin& bin : setting.dataset.bins) add(D(bin.llm_tokens), D(bin.count));
    if (setting.dataset.bins.empty() && setting.mean.tokens > 0)
      add(setting.mean.squared / setting.mean.tokens, 1.0);
  };
  visit([&](double length, double count) {
    tokens += count * length;
    squares += count * length * length;
    seen += count * seen_of(length);
  });
  if (tokens <= 0 || seen <= 0) return {};
  // With per_token = (seen - per_squared * squares) / tokens the sum is exact.
  double both = 0, quadratic = 0;
  visit([&](double length, double count) {
    const double bend = length * length - length * squares / tokens;
    quadratic += count * bend * bend;
    both += count * bend * (seen_of(length) - length * seen / tokens);
  });
  const double most = seen / squares;
  const double alike = seen >= squares ? most : 0;  // all samples are equally long
  const double slope = quadratic > 0 ? both / quadratic : alike;
  const double per_squared = std::clamp(slope, 0.0, most);
  return {(seen - per_squared * squares) / tokens, per_squared};
}

PackCost CoreTime(LayerBuilder& b, const AttentionShape& shape, const SeenSquares& seen) {
  const KernelTime& kernels = b.setting().kernels;
  const RankHeads& rank = shape.rank;
  const int64_t sequence = shape.sequence;
  if (sequence > 0)
    return b.OverRows(
        kernels.EncoderAttention(rank.heads, rank.head_size, sequence, b.EqualRows()));
  const CoreHeads core = HeadsOf(b, rank, /*causal=*/true);
  // Equal packs are assumed to have samples of equal length: their sums tell no more.
  const PackShape& mean = b.setting().mean;
  const int64_t longest =
      b.setting().equal_packs && mean.tokens > 0 ? Nearest(mean.squared / mean.tokens) : 0;
  const KernelTime::Causal c =
      kernels.CausalAttention(core.heads, core.kv_heads, rank.head_size, longest);
  return {.constant = c.constant,
          .per_token = core.share * (c.per_token + seen.per_token * c.per_squared),
          .per_squared = core.share * seen.per_squared * c.per_squared};
}

struct CoreTimes {
  PackCost forward, backward;
};

// Returns the samples of a pack, as if they were equally long; 0 without tokens.
int64_t SamplesOf(const PackShape& pack) {
  if (pack.squared <= 0) return 0;
  return std::max<int64_t>(1, Nearest(pack.tokens * pack.tokens / pack.squared));
}

// Returns whether Megatron's fused softmax takes the scores of the rank's heads: four of them at a
// time (is_kernel_available of megatron/core/fusions/fused_softmax.py). Otherwise PyTorch masks and
// normalises them in fp32, in five kernels, as it does for all other trainers that have a record.
// Packs of different lengths, and full sequences (of `sequence` tokens, 0: causal), are taken to
// suit it.
bool FusesSoftmax(const LayerBuilder& b, const RankHeads& rank, int64_t sequence) {
  if (b.setting().softmax == UnfusedSoftmax::kPyTorch) return false;
  if (sequence > 0 || !b.setting().equal_packs) return true;
  return rank.heads * SamplesOf(b.setting().mean) % 4 == 0;
}
constexpr int64_t kMoreSoftmaxLaunches = 4;
// Bytes per score of conversions, scaling, masking and a softmax in fp32, beyond the fused
// kernel's.
struct SoftmaxBytes {
  double forward = 0, backward = 0;
};
constexpr SoftmaxBytes kMegatronsOwn = {30, 34};
// Hugging Face's scales and masks in 16 bits, 4 bytes each, and converts around a softmax in fp32:
// 6 + 8 + 6 bytes; backward 4 and 6 + 12 + 6 (eager_attention_forward of
// transformers/models/llama/modeling_llama.py; PyTorch converts only float16 inside the softmax).
// Trainers without a record are assumed to run such modules.
constexpr SoftmaxBytes kHuggingFace = {28 - 4, 28 - 6};

struct ScoreBytes {
  double kept = 0, transient = 0;
};

// Returns the bytes per score that unfused attention keeps: the 16-bit softmax and, with dropout,
// its mask of one byte and the dropped copy. PyTorch's softmax keeps its fp32 result, and the
// product with the values a 16-bit copy of it (the dropped one, if there is dropout); its backward
// pass holds two gradients in fp32 (forward_torch_softmax of the same file).
ScoreBytes ScoreBytesOf(bool fused, bool dropout) {
  if (fused) return {dropout ? 5.0 : 2.0, dropout ? 6.0 : 4.0};
  return {dropout ? 7.0 : 6.0, 8.0};
}

// Returns the times of batched products over all pairs of rows, masked pairs included, and of the
// passes over the scores between them: mask and softmax (4 bytes per score, 6 backward), and
// dropout with its mask of one byte (5 and 5). Megatron's causal softmax reads the half that is not
// masked, and writes all (scaled_upper_triang_masked_softmax.h): 3 and 4.
CoreTimes UnfusedTimes(const LayerBuilder& b, const RankHeads& rank, int64_t sequence) {
  const KernelTime& kernels = b.setting().kernels;
  const PackShape& mean = b.setting().mean;
  const double sample = mean.tokens > 0 ? mean.squared / mean.tokens : 1;
  const int64_t length = sequence > 0 ? sequence : std::max<int64_t>(1, Nearest(sample));
  const bool dropout = b.setting().execution.dropout;
  const double products = kernels.BatchedRow(length, rank.head_size, length) +
                          kernels.BatchedRow(rank.value_size, length, length);
  const auto over_rows = [&](double times, double bytes) {
    const double passes = kernels.MemoryBound(bytes * D(length)).per_row;
    const double per_row = D(rank.heads) * (times * products + passes);
    if (sequence > 0) return b.PerRow(per_row);
    return PackCost{.per_squared = b.rows().share * per_row / D(length)};
  };
  const bool fused = FusesSoftmax(b, rank, sequence);
  const bool megatron = b.setting().softmax == UnfusedSoftmax::kMegatron;
  const bool causal = sequence == 0 && fused && megatron;
  const double forward = causal ? 3 : 4, backward = causal ? 4 : 6, dropped = dropout ? 5 : 0;
  const SoftmaxBytes more = fused ? SoftmaxBytes{} : megatron ? kMegatronsOwn : kHuggingFace;
  return {over_rows(1, forward + dropped + more.forward),
          over_rows(2, backward + dropped + more.backward)};
}

// Returns the number of scores of the rank's heads: rows x sequence x heads.
PackCost Scores(const LayerBuilder& b, const RankHeads& rank, int64_t sequence) {
  if (sequence > 0) return b.PerRow(D(sequence) * D(rank.heads));
  return {.per_squared = b.rows().share * D(rank.heads)};
}

// Returns the number of pairs of tokens that attention's kernels see, over the rank's heads. Causal
// attention sees half of the squares.
PackCost SeenPairs(const LayerBuilder& b, const AttentionShape& shape, const SeenSquares& seen) {
  if (shape.sequence > 0) return Scores(b, shape.rank, shape.sequence);
  const double half = b.rows().share * D(shape.rank.heads) / 2;
  return {.per_token = half * seen.per_token, .per_squared = half * seen.per_squared};
}

// Returns the pairs for which attention has room at once. Context-parallel ranks that pass keys and
// values around a ring hold those of one step. Where they gather them, all pairs count, which is an
// upper bound.
PackCost HeldPairs(const LayerBuilder& b, const RankHeads& rank, int64_t sequence) {
  const PackCost all = Scores(b, rank, sequence);
  if (sequence > 0 || b.setting().execution.context == ContextKind::kAllGather) return all;
  return D(b.setting().head_ranks) / D(b.setting().parallelism.context) * all;
}

// Returns the ratios of the flash kernel for a pack of `samples` sequences (0: many), with the
// rank's heads or those that it received in exchange.
FlashRatios FlashOf(const LayerBuilder& b, const AttentionShape& shape, int64_t samples) {
  const Execution& execution = b.setting().execution;
  const bool causal = shape.sequence == 0;
  return b.setting().kernels.Flash(
      {.kernel = execution.attention,
       .head_size = shape.rank.head_size,
       .causal = causal,
       .dropout = execution.dropout,
       .deterministic = execution.deterministic,
       .sequences = D(samples * HeadsOf(b, shape.rank, causal).heads)});
}

// For time, the number of samples in the mean pack matters.
FlashRatios MeanFlash(const LayerBuilder& b, const AttentionShape& shape) {
  return FlashOf(b, shape,
                 shape.sequence > 0 ? b.EqualRows() / shape.sequence : SamplesOf(b.setting().mean));
}

// For memory, the number of samples in the packs that hold most matters. Few samples have many
// copies: a pack of one may hold more than a larger pack of two.
FlashRatios LargestFlash(const LayerBuilder& b, const AttentionShape& shape) {
  const PackShape& largest = b.setting().largest;
  if (shape.sequence > 0)
    return FlashOf(b, shape, Nearest(b.PerRow(1).at(largest)) / shape.sequence);
  FlashRatios most = FlashOf(b, shape, 0);
  const double fewest = most.copies;
  if (largest.squared <= 0) return most;
  const double part = largest.squared / (largest.tokens * largest.tokens);  // of its longest sample
  for (int64_t samples = 1;; ++samples) {
    const double copies = FlashOf(b, shape, samples).copies, held = D(samples) * part;
    most.copies = std::max(most.copies, copies * std::min(1.0, held));
    if (held >= 1 || copies <= fewest) return most;
  }
}

CoreTimes FlashTimes(LayerBuilder& b, const AttentionShape& shape, const SeenSquares& seen) {
  const RankHeads& rank = shape.rank;
  const KernelTime& kernels = b.setting().kernels;
  const FlashRatios ratios = MeanFlash(b, shape);
  const PackCost forward = ratios.forward * CoreTime(b, shape, seen);
  const double bytes = ratios.backward_bytes * D(rank.heads) * D(rank.head_size);
  PackCost backward = ratios.backward * forward;
  backward += b.PerRow(kernels.MemoryBound(bytes).per_row);
  // Each pair is stored and read.
  backward += kernels.MemoryBound(2 * ratios.pair_bytes).per_row * SeenPairs(b, shape, seen);
  return {forward, backward};
}

}  // namespace

void AddCoreAttention(LayerBuilder& b, const AttentionShape& shape,
                      RecomputeParts inputs_dropped_by) {
  const Execution& execution = b.setting().execution;
  const Parallelism& p = b.setting().parallelism;
  const RankHeads& rank = shape.rank;
  const int64_t sequence = shape.sequence;
  b.Begin("core attention", kCoreAttention);
  const double q = D(rank.heads) * D(rank.head_size), out = D(rank.heads) * D(rank.value_size);
  const double kv = D(rank.kv_heads) * D(rank.head_size + rank.value_size);
  LayerOperation& op = b.operation();
  const bool unfused = execution.attention == AttentionKernel::kUnfused;
  const SeenSquares seen = SeenSquaresOf(b.setting(), shape);
  const CoreTimes times = unfused ? UnfusedTimes(b, rank, sequence) : FlashTimes(b, shape, seen);
  op.attention = times.forward;
  op.attention_gradients = times.backward;
  op.launches += unfused ? 4 : 1;
  if (unfused && !FusesSoftmax(b, rank, sequence)) op.launches += kMoreSoftmaxLaunches;
  const double whole = D(shape.heads) * D(rank.head_size + rank.value_size);
  // Causal: each token sees half of its sample.
  if (sequence > 0) {
    op.flops += b.WholeRows(2 * whole * D(sequence));
  } else {
    op.flops += {.per_token = seen.per_token * whole, .per_squared = seen.per_squared * whole};
    AddContextExchange(b, rank);
  }
  // Reused keys and values are kept where they were made.
  const bool reused = shape.key_values == KeyValues::kReused;
  b.Keep(q + (reused ? 0 : kv), inputs_dropped_by);
  b.Offloads(kOffloadCoreAttention, {q, reused ? 0 : D(rank.kv_heads) * D(rank.head_size),
                                     reused ? 0 : D(rank.kv_heads) * D(rank.value_size)});
  b.Fill(out, q + kv);
  b.Transient(q + kv + out);
  b.KeepResults(out + 2 * D(rank.heads));
  op.keeps_exchange = true;
  if (unfused) {
    const PackCost scores = Scores(b, rank, sequence);
    const bool fused =
        b.setting().softmax == UnfusedSoftmax::kMegatron && FusesSoftmax(b, rank, sequence);
    const ScoreBytes bytes = ScoreBytesOf(fused, execution.dropout);
    b.KeepBytes(bytes.kept * scores, kCoreAttention);
    op.transient += bytes.transient * scores;
    return;
  }
  b.Keep(2 * D(rank.heads), kCoreAttention);  // log of the softmax's sum, fp32
  b.Keep(out);
  b.Offloads(kOffloadAttentionProjection);
  const FlashRatios flash = LargestFlash(b, shape);
  b.Transient(2 * flash.copies * q);  // gradient of the queries accumulates in fp32
  op.transient += flash.pair_bytes * HeldPairs(b, rank, sequence);
  // Ranks that exchange heads keep the output on both sides of the exchange.
  if (sequence == 0 && b.setting().head_ranks > 1) b.Keep(out);
  // All keys and values are there at once, and their gradients before they are reduced.
  if (sequence == 0 && execution.context == ContextKind::kAllGather)
    b.Transient(2 * kv * D(p.context - 1));
}

}  // namespace evenkeel::planner
