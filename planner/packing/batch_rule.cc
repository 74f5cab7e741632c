#include "planner/packing/batch_rule.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/packing/isf.h"
#include "planner/packing/sample.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kSampledAtMost = 20000;  // enough for ratios within .01, and a few milliseconds
constexpr int64_t kUsualTokenCap = 4096;   // where the argument search starts
constexpr int64_t kTokenCapStep = 128;
constexpr int64_t kTokensPerUnitStep = 16;
constexpr int64_t kKeepSlack = 128;  // Qt' = Qt - 128

struct Totals {
  double units = 0, tokens = 0;
  int64_t most_units = 0, most_tokens = 0;
};

Totals TotalsOf(const Dataset& dataset) {
  Totals t;
  for (const LengthBin& bin : dataset.bins) {
    t.units += static_cast<double>(bin.units) * static_cast<double>(bin.count);
    t.tokens += static_cast<double>(bin.llm_tokens) * static_cast<double>(bin.count);
    t.most_units = std::max(t.most_units, bin.units);
    t.most_tokens = std::max(t.most_tokens, bin.llm_tokens);
  }
  return t;
}

// Caps from the request, or: Qt the usual 4096 or the longest sample; Qv = Qt over the mean tokens
// per unit, rounded up.
void SetCaps(const Job& job, const Totals& totals, BatchRule& rule) {
  rule.token_cap = job.training.token_cap;
  rule.unit_cap = job.training.unit_cap;
  if (rule.token_cap == 0) {
    rule.token_cap = std::max(kUsualTokenCap, RoundUp(totals.most_tokens, kTokenCapStep));
    rule.caps_derived = true;
  }
  if (rule.unit_cap == 0 && totals.units > 0) {
    const int64_t per_unit =
        RoundUp(static_cast<int64_t>(std::ceil(totals.tokens / totals.units)), kTokensPerUnitStep);
    rule.unit_cap = std::max(totals.most_units, rule.token_cap / per_unit);
    rule.caps_derived = true;
  }
  rule.keep_units = rule.unit_cap;
  rule.keep_tokens = std::max<int64_t>(1, rule.token_cap - kKeepSlack);
}

PackShape ShapeOf(const std::vector<SampleLength>& samples, const std::vector<int32_t>& members) {
  PackShape shape;
  for (const int32_t i : members) {
    const SampleLength& s = samples[static_cast<size_t>(i)];
    const double tokens = static_cast<double>(s.tokens);
    shape.units += static_cast<double>(s.units);
    shape.tokens += tokens;
    shape.squared += tokens * tokens;
  }
  return shape;
}

PackShape MeanOf(const std::vector<PackShape>& packs) {
  PackShape mean;
  for (const PackShape& p : packs)
    mean.units += p.units, mean.tokens += p.tokens, mean.squared += p.squared;
  const double n = static_cast<double>(packs.size());
  return {mean.units / n, mean.tokens / n, mean.squared / n};
}

// Random micro-batches of equal sample count, every sample padded to the longest of its
// micro-batch.
void MakeBaseline(std::vector<SampleLength> samples, uint64_t seed, Batching& out) {
  Random random(seed);
  random.Shuffle(samples);
  const size_t size = static_cast<size_t>(std::max<int64_t>(1, Nearest(out.rule.samples_per_pack)));
  out.baseline_samples = static_cast<int64_t>(size);
  double padding = 0;
  for (size_t begin = 0; begin < samples.size(); begin += size) {
    const size_t end = std::min(samples.size(), begin + size);
    PackShape shape;
    double longest = 0, tokens = 0;
    for (size_t i = begin; i < end; ++i) {
      shape.units += static_cast<double>(samples[i].units);
      tokens += static_cast<double>(samples[i].tokens);
      longest = std::max(longest, static_cast<double>(samples[i].tokens));
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

}  // namespace

Batching MakeBatching(const Job& job) {
  Batching out;
  BatchRule& rule = out.rule;
  SetCaps(job, TotalsOf(job.dataset), rule);
  rule.iterations = job.training.isf_iterations;
  rule.seed = job.training.seed;

  const std::vector<SampleLength> samples = DrawSamples(job.dataset, kSampledAtMost);
  const std::vector<std::vector<int32_t>> packs =
      PackByIsf(samples, {rule.unit_cap, rule.token_cap, rule.keep_units, rule.keep_tokens,
                          rule.iterations, rule.seed});
  for (const std::vector<int32_t>& pack : packs) out.packs.push_back(ShapeOf(samples, pack));
  Random random(rule.seed + 1);
  random.Shuffle(out.packs);

  rule.sampled = static_cast<int64_t>(samples.size());
  rule.samples_per_pack = static_cast<double>(samples.size()) / static_cast<double>(packs.size());
  rule.packs = std::max<int64_t>(
      1, Nearest(static_cast<double>(SampleCount(job.dataset)) / rule.samples_per_pack));
  out.mean = MeanOf(out.packs);
  rule.mean_units = out.mean.units;
  rule.mean_tokens = out.mean.tokens;
  out.largest = {static_cast<double>(rule.unit_cap), static_cast<double>(rule.token_cap), 0};
  for (const LengthBin& bin : job.dataset.bins) {
    if (bin.units <= rule.unit_cap && bin.llm_tokens <= rule.token_cap) continue;
    rule.oversize_samples += bin.count;
    out.largest.units = std::max(out.largest.units, static_cast<double>(bin.units));
    out.largest.tokens = std::max(out.largest.tokens, static_cast<double>(bin.llm_tokens));
  }
  MakeBaseline(samples, rule.seed + 2, out);
  return out;
}

DistRatios DealAtRandom(const std::vector<PackShape>& packs, int64_t data, int64_t micro_batches) {
  const int64_t per_step = data * micro_batches;
  const int64_t steps = std::clamp<int64_t>(static_cast<int64_t>(packs.size()) / per_step, 1, 64);
  const auto ratio = [&](const std::vector<double>& totals, double most) {
    double idle = 0;
    for (const double total : totals) idle += most - total;
    return most > 0 ? idle / (most * static_cast<double>(data)) : 0;
  };
  // Sums of the packs before each, so that a rank's total takes no walk over its packs.
  std::vector<PackShape> before(packs.size() + 1);
  for (size_t i = 0; i < packs.size(); ++i) {
    const PackShape &sum = before[i], &pack = packs[i];
    before[i + 1] = {sum.units + pack.units, sum.tokens + pack.tokens, sum.squared + pack.squared};
  }
  const auto before_position = [&](int64_t position) -> PackShape {
    const int64_t n = static_cast<int64_t>(packs.size());
    const int64_t whole_rounds = position / n;
    const double rounds = static_cast<double>(whole_rounds);
    const PackShape &all = before.back(), &rest = before[static_cast<size_t>(position % n)];
    return {rounds * all.units + rest.units, rounds * all.tokens + rest.tokens,
            rounds * all.squared + rest.squared};
  };
  DistRatios sum;
  std::vector<double> units(static_cast<size_t>(data)), tokens(units), attention(units);
  int64_t next = 0;
  for (int64_t step = 0; step < steps; ++step) {
    for (size_t r = 0; r < units.size(); ++r) {
      const PackShape from = before_position(next), to = before_position(next += micro_batches);
      units[r] = to.units - from.units;
      tokens[r] = to.tokens - from.tokens;
      attention[r] = to.squared - from.squared;
    }
    sum.units += ratio(units, *std::max_element(units.begin(), units.end()));
    sum.tokens += ratio(tokens, *std::max_element(tokens.begin(), tokens.end()));
    sum.attention += ratio(attention, *std::max_element(attention.begin(), attention.end()));
  }
  const double n = static_cast<double>(steps);
  return {sum.units / n, sum.tokens / n, sum.attention / n};
}

}  // namespace evenkeel::planner
