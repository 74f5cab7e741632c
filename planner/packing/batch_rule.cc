#include "planner/packing/batch_rule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/packing/isf.h"
#include "planner/packing/length_groups.h"
#include "planner/packing/metrics.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/packer.h"
#include "planner/packing/sample.h"

namespace evenkeel::planner {
namespace {

PackShape MeanOf(const std::vector<PackShape>& packs) {
  PackShape mean;
  for (const PackShape& p : packs) mean += p;
  return mean / static_cast<double>(packs.size());
}

// Bins that differ in the units of their encoders may be equal once these are scaled.
void MergeEqual(SampleTypes& types) {
  const auto key = [](const SampleType& t) { return std::pair(t.units, t.tokens); };
  std::sort(types.begin(), types.end(),
            [&](const SampleType& a, const SampleType& b) { return key(a) < key(b); });
  SampleTypes merged;
  for (const SampleType& t : types) {
    if (!merged.empty() && key(merged.back()) == key(t))
      merged.back().count += t.count;
    else
      merged.push_back(t);
  }
  types = std::move(merged);
}

// Returns the times of forward and backward of the whole model on one GPU.
PackTimes TimesOf(const Job& job, const PackShape& mean, const PackShape& largest) {
  const LayerProfile profile = BuildLayerProfile(job, {1, 1, 1}, mean, largest);
  PackCost all;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    all += layer.forward;
    if (layer.has_backward) all += layer.backward;
  }
  constexpr double kSeconds = 1e-9;
  return {kSeconds * all.per_unit, kSeconds * all.per_token, kSeconds * all.per_squared,
          job.model.towers.empty() ? 0 : 1};
}

// Makes random micro-batches of equal sample count, with every sample padded to the longest of its
// micro-batch.
void MakeBaseline(const Lengths& samples, uint64_t seed, Batching& out) {
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0u);
  Random(seed).Shuffle(order);
  const size_t size = static_cast<size_t>(std::max<int64_t>(1, Nearest(out.rule.samples_per_pack)));
  out.baseline_samples = static_cast<int64_t>(size);
  double padding = 0;
  for (size_t begin = 0; begin < order.size(); begin += size) {
    const size_t end = std::min(order.size(), begin + size);
    PackShape shape;
    double longest = 0, tokens = 0;
    for (size_t i = begin; i < end; ++i) {
      shape.units += samples.UnitsOf(order[i]).As<double>();
      tokens += static_cast<double>(samples.tokens[order[i]]);
      longest = std::max(longest, static_cast<double>(samples.tokens[order[i]]));
    }
    const double n = static_cast<double>(end - begin);
    shape.tokens = longest * n;
    shape.squared = longest * longest * n;
    padding += (shape.tokens - tokens) / shape.tokens;
    out.baseline.push_back(shape);
  }
  out.baseline_pad_ratio = padding / static_cast<double>(out.baseline.size());
  out.baseline_mean = MeanOf(out.baseline);
}

Batching PackSample(const Job& job, const Caps& caps, std::string reason, int64_t sampled_at_most,
                    const Stop& stop, Packing (*pack)(const Lengths&, const PackRule&)) {
  Batching out;
  BatchRule& rule = out.rule;
  rule.packer = job.training.packer;
  rule.unit_cap = caps.units;
  rule.token_cap = caps.tokens;
  rule.caps_derived = DerivesCaps(job);
  rule.caps_reason = std::move(reason);
  rule.keep_units = rule.unit_cap;
  rule.keep_tokens = DefaultKeepTokens(rule.token_cap);
  rule.iterations = job.training.isf_iterations;
  rule.seed = job.training.seed;
  rule.order_window = job.training.order_window;

  const DrawnSamples samples = DrawSamples(job.dataset, sampled_at_most);
  const Lengths lengths = samples.lengths();
  const Packing packing = pack(lengths, {.packer = rule.packer,
                                         .caps = caps,
                                         .effort = PackEffort::kFast,
                                         .seed = rule.seed,
                                         .keep_units = rule.keep_units,
                                         .keep_tokens = rule.keep_tokens,
                                         .iterations = rule.iterations,
                                         .apart = {},
                                         .stop = stop});
  out.packs = SumsOf(lengths, packing);
  std::vector<PackShape> shapes;
  for (const PackSums& sums : out.packs) shapes.push_back(ShapeOf(sums));
  out.mean = MeanOf(shapes);

  const double sampled = static_cast<double>(samples.tokens.size());
  const double scale = static_cast<double>(SampleCount(job.dataset)) / sampled;
  rule.sampled = static_cast<int64_t>(samples.tokens.size());
  rule.pack_lower_bound = CheapLowerBound(TypesOf(job.dataset), caps, stop).packs;
  rule.packs =
      std::max(rule.pack_lower_bound, Nearest(static_cast<double>(packing.size()) * scale));
  rule.samples_per_pack =
      static_cast<double>(SampleCount(job.dataset)) / static_cast<double>(rule.packs);
  rule.unit_scales = job.dataset.unit_scales;
  rule.mean_units = out.mean.units.Dot(rule.unit_scales.As<double>());
  rule.mean_tokens = out.mean.tokens;
  const double longest = static_cast<double>(job.dataset.totals().longest_tokens);
  out.largest = {UnitsAtMost(job.dataset, caps), static_cast<double>(rule.token_cap), 0};
  for (const LengthBin& bin : job.dataset.bins) {
    if (caps.Hold(job.dataset.ScaledUnits(bin), bin.llm_tokens)) continue;
    rule.oversize_samples += bin.count;
    out.largest.units = Max(out.largest.units, bin.units.As<double>());
    out.largest.tokens = std::max(out.largest.tokens, static_cast<double>(bin.llm_tokens));
  }
  // The sum is largest if all tokens of a pack are in samples as long as the longest.
  out.largest.squared = out.largest.tokens * std::min(longest, out.largest.tokens);
  rule.pack_times = TimesOf(job, out.mean, out.largest);
  MakeBaseline(lengths, rule.seed + 2, out);
  return out;
}

Batching PaddedBatching(const Job& job, const Stop& stop) {
  PaddedMicroBatches padded = PadMicroBatches(job, kSampledAtMost, stop);
  Batching out;
  out.mean = padded.mean;
  out.largest = padded.largest;
  BatchRule& rule = out.rule;
  rule.packer = job.training.packer;
  rule.unit_cap = rule.keep_units = padded.unit_cap;
  rule.token_cap = rule.keep_tokens = job.training.micro_batch_samples * padded.rows.longest_tokens;
  rule.iterations = job.training.isf_iterations;
  rule.seed = job.training.seed;
  rule.order_window = 1;
  rule.sampled = padded.sampled;
  rule.unit_scales = job.dataset.unit_scales;
  rule.packs = CeilDivide(SampleCount(job.dataset), job.training.micro_batch_samples);
  rule.samples_per_pack = D(job.training.micro_batch_samples);
  rule.mean_units = out.mean.units.Dot(rule.unit_scales.As<double>());
  rule.mean_tokens = out.mean.tokens;
  rule.pad_ratio = std::max(0.0, 1 - padded.rows.real.tokens / out.mean.tokens);
  rule.pack_times = TimesOf(job, out.mean, out.largest);
  for (const PackSums& sums : padded.packs) out.baseline.push_back(ShapeOf(sums));
  out.baseline_samples = job.training.micro_batch_samples;
  out.baseline_pad_ratio = rule.pad_ratio;
  out.baseline_mean = out.mean;
  out.packs = std::move(padded.packs);
  out.padded = padded.rows;
  return out;
}

}  // namespace

PerEncoder<double> UnitsAtMost(const Dataset& dataset, const Caps& caps) {
  PerEncoder<double> most;
  for (size_t e = 0; e < kEncodersAtMost; ++e) {
    const int64_t scale = dataset.unit_scales[e];
    if (scale > 0) most[e] = static_cast<double>(caps.units / scale);
  }
  return most;
}

SampleTypes TypesOf(const Dataset& dataset) {
  SampleTypes types;
  for (const LengthBin& bin : dataset.bins)
    types.push_back({static_cast<int32_t>(dataset.ScaledUnits(bin)),
                     static_cast<int32_t>(bin.llm_tokens), bin.count});
  if (dataset.encoders() > 1) MergeEqual(types);
  return types;
}

PackShape ShapeOf(const PackSums& sums) {
  return {sums.encoder_units.As<double>(), static_cast<double>(sums.tokens),
          static_cast<double>(sums.squared)};
}

bool DerivesCaps(const Job& job) {
  return job.training.token_cap == 0 || (job.training.unit_cap == 0 && job.dataset.has_units());
}

CapsRule CapsRuleOf(const Job& job, const Stop& stop) {
  return CapsRule(TypesOf(job.dataset), {job.training.unit_cap, job.training.token_cap}, stop);
}

Batching MakeBatching(const Job& job, const Caps& caps, std::string reason, const Stop& stop,
                      int64_t sampled_at_most) {
  return PackSample(job, caps, std::move(reason), sampled_at_most, stop, Pack);
}

Batching MakeGroupBatching(const Job& job, const Caps& caps, const Stop& stop) {
  return PackSample(job, caps, "", kSampledAtMost, stop, PackOwnSamples);
}

Batching MakeBatching(const Job& job, const Stop& stop) {
  if (job.training.micro_batch_samples > 0) return PaddedBatching(job, stop);
  const CapsChoice choice = CapsRuleOf(job, stop).Balanced();
  return MakeBatching(job, choice.caps, DerivesCaps(job) ? BalanceReason(choice) : "", stop);
}

std::optional<PaddedBatches> PaddedBatchesOf(const Job& job, const Batching& batching, int64_t data,
                                             int64_t micro_batches) {
  if (!batching.padded) return std::nullopt;
  return PaddedBatches{.mean_row_tokens = batching.padded->mean_tokens,
                       .longest_row_tokens = batching.padded->longest_tokens,
                       .slowest_rank_ratio = SlowestRankRatio(
                           job, batching.packs, batching.rule.pack_times, data, micro_batches),
                       .packed = std::nullopt};
}

DistRatios DistRatiosOf(const std::vector<PackShape>& packs, const BatchRule& rule, int64_t data,
                        int64_t micro_batches, const Stop& stop) {
  const PackTimes& times = rule.pack_times;
  const PerEncoder<double> scales = rule.unit_scales.As<double>();
  const int64_t per_step = data * micro_batches;
  const int64_t steps = std::clamp<int64_t>(static_cast<int64_t>(packs.size()) / per_step, 1, 64);
  // Sums of the packs before each pack, so that a rank's total needs no loop over its packs.
  stop.Spend(static_cast<int64_t>(4 * packs.size()));
  std::vector<PackShape> before(packs.size() + 1);
  for (size_t i = 0; i < packs.size(); ++i) {
    before[i + 1] = before[i] + packs[i];
  }
  const auto before_position = [&](int64_t position) -> PackShape {
    const int64_t n = static_cast<int64_t>(packs.size());
    const int64_t whole_rounds = position / n;
    const double rounds = static_cast<double>(whole_rounds);
    const PackShape &all = before.back(), &rest = before[static_cast<size_t>(position % n)];
    return rounds * all + rest;
  };
  MeanDistRatio mean_units, mean_tokens, mean_attention;
  double most_time = 0, waited = 0;
  std::vector<double> units(static_cast<size_t>(data)), tokens(units), attention(units),
      times_of(units);
  int64_t next = 0;
  for (int64_t step = 0; step < steps; ++step) {
    stop.Spend(20 * data);
    for (size_t r = 0; r < units.size(); ++r) {
      const PackShape from = before_position(next), to = before_position(next += micro_batches);
      const PerEncoder<double> of_encoder = to.units - from.units;
      units[r] = of_encoder.Dot(scales);
      tokens[r] = to.tokens - from.tokens;
      attention[r] = to.squared - from.squared;
      times_of[r] = times.vision_per_unit.Dot(of_encoder) + times.language_per_token * tokens[r] +
                    times.language_per_squared_token * attention[r];
    }
    // The sum is taken rank by rank, because the mean of equal times may round to more than the
    // longest of them.
    const double most = *std::max_element(times_of.begin(), times_of.end());
    most_time += most;
    for (const double time : times_of) waited += (most - time) / static_cast<double>(data);
    mean_units.AddStep(units);
    mean_tokens.AddStep(tokens);
    mean_attention.AddStep(attention);
  }
  const double idle = most_time > 0 ? waited / most_time : 0;
  return {mean_units.Mean(), mean_tokens.Mean(), mean_attention.Mean(), idle};
}

void FillDistRatios(const std::vector<PackShape>& packs, int64_t data, int64_t micro_batches,
                    const Stop& stop, BatchRule* rule) {
  const DistRatios ratios = DistRatiosOf(packs, *rule, data, micro_batches, stop);
  rule->idle_ratio = ratios.idle;
  rule->dist_ratio_units = ratios.units;
  rule->dist_ratio_tokens = ratios.tokens;
  rule->dist_ratio_attention = ratios.attention;
}

}  // namespace evenkeel::planner
