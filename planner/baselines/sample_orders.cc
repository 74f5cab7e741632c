#include "planner/baselines/sample_orders.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

using Samples = std::vector<uint32_t>;

std::ptrdiff_t At(size_t i) { return static_cast<std::ptrdiff_t>(i); }

void SortEach(const Lengths& lengths, size_t megabatch, Samples& samples) {
  for (size_t begin = 0; begin < samples.size(); begin += megabatch) {
    const size_t end = std::min(samples.size(), begin + megabatch);
    std::stable_sort(samples.begin() + At(begin), samples.begin() + At(end),
                     [&](uint32_t a, uint32_t b) { return lengths.tokens[a] > lengths.tokens[b]; });
  }
}

// Shuffles whole rows; a short row stays last.
void ShuffleRows(size_t row, Random& random, Samples& samples) {
  std::vector<size_t> rows(samples.size() / row);
  std::iota(rows.begin(), rows.end(), size_t{0});
  random.Shuffle(rows);
  Samples shuffled;
  shuffled.reserve(samples.size());
  for (const size_t r : rows) {
    const auto begin = samples.begin() + At(r * row);
    shuffled.insert(shuffled.end(), begin, begin + At(row));
  }
  shuffled.insert(shuffled.end(), samples.begin() + At(rows.size() * row), samples.end());
  samples.swap(shuffled);
}

Samples Sequence(const Lengths& lengths, const BaselineRule& rule) {
  Samples samples(lengths.size());
  std::iota(samples.begin(), samples.end(), 0u);
  Random random(rule.seed);
  random.Shuffle(samples);
  const size_t row = static_cast<size_t>(rule.ranks * rule.samples);
  switch (rule.order) {
    case BaselineOrder::kRandom:
      break;
    case BaselineOrder::kLengthGrouped:
      SortEach(lengths, static_cast<size_t>(rule.megabatch * rule.samples), samples);
      break;
    case BaselineOrder::kDeviceGrouped:
      SortEach(lengths, row, samples);
      break;
    case BaselineOrder::kGroupRandom:
      std::stable_sort(samples.begin(), samples.end(), [&](uint32_t a, uint32_t b) {
        return lengths.tokens[a] / rule.bin < lengths.tokens[b] / rule.bin;
      });
      ShuffleRows(row, random, samples);
      break;
  }
  return samples;
}

// Returns the samples of a row that each rank takes.
std::vector<Samples> Split(const Samples& row, const BaselineRule& rule) {
  const size_t ranks = static_cast<size_t>(rule.ranks), size = static_cast<size_t>(rule.samples);
  std::vector<Samples> split(ranks);
  for (size_t i = 0; i < row.size(); ++i)
    split[rule.order == BaselineOrder::kRandom ? i / size : i % ranks].push_back(row[i]);
  return split;
}

// Gives each sample, longest first, to the rank with the fewest tokens that still has a place.
std::vector<Samples> SplitEvenly(const Lengths& lengths, const Samples& row,
                                 const BaselineRule& rule) {
  const size_t size = static_cast<size_t>(rule.samples);
  std::vector<Samples> split(static_cast<size_t>(rule.ranks));
  std::set<std::pair<int64_t, size_t>> ranks;  // (tokens, rank)
  for (size_t r = 0; r < split.size(); ++r) ranks.emplace(0, r);
  for (const uint32_t sample : row) {
    const auto [tokens, r] = ranks.extract(ranks.begin()).value();
    split[r].push_back(sample);
    if (split[r].size() < size) ranks.emplace(tokens + lengths.tokens[sample], r);
  }
  return split;
}

// Cuts the rows of `samples` into micro-batches, and appends these to the order of steps as if
// there were one micro-batch per rank and step.
void Cut(const Lengths& lengths, const Samples& samples, const BaselineRule& rule,
         BaselineBatches& out) {
  const size_t row_size = static_cast<size_t>(rule.ranks * rule.samples);
  for (size_t begin = 0; begin < samples.size(); begin += row_size) {
    const size_t end = std::min(samples.size(), begin + row_size);
    const Samples row(samples.begin() + At(begin), samples.begin() + At(end));
    const std::vector<Samples> split = rule.order == BaselineOrder::kDeviceGrouped
                                           ? SplitEvenly(lengths, row, rule)
                                           : Split(row, rule);
    for (const Samples& micro_batch : split) {
      out.order.push_back(micro_batch.empty() ? -1
                                              : static_cast<int64_t>(out.micro_batches.size()));
      std::vector<uint32_t>& members = out.micro_batches.members;
      members.insert(members.end(), micro_batch.begin(), micro_batch.end());
      out.micro_batches.ClosePack();
    }
  }
}

// Converts rows into steps of ranks x micro-batches.
std::vector<int64_t> Steps(const std::vector<int64_t>& rows, const BaselineRule& rule) {
  const int64_t per_step = rule.ranks * rule.micro_batches;
  const int64_t steps = CeilDivide(static_cast<int64_t>(rows.size()), per_step);
  std::vector<int64_t> order(static_cast<size_t>(steps * per_step), -1);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / rule.ranks;
    const int64_t rank = static_cast<int64_t>(i) % rule.ranks;
    const int64_t step = row / rule.micro_batches, slot = row % rule.micro_batches;
    order[static_cast<size_t>(step * per_step + rank * rule.micro_batches + slot)] = rows[i];
  }
  return order;
}

}  // namespace

BaselineBatches OrderSamples(const Lengths& lengths, const BaselineRule& rule) {
  BaselineBatches out;
  if (lengths.size() == 0) return out;
  Cut(lengths, Sequence(lengths, rule), rule, out);
  out.order = Steps(out.order, rule);
  int64_t padding = 0, padded = 0;
  std::vector<PackSums> sums = SumsOf(lengths, out.micro_batches);
  for (size_t i = 0; i < sums.size(); ++i) {
    int64_t longest = 0;
    for (const uint32_t s : out.micro_batches[i])
      longest = std::max(longest, int64_t{lengths.tokens[s]});
    const int64_t count = static_cast<int64_t>(out.micro_batches[i].size());
    padding += longest * count - sums[i].tokens;
    padded += longest * count;
    sums[i].tokens = longest * count;
    sums[i].squared = longest * longest * count;
  }
  out.pad_ratio = static_cast<double>(padding) / static_cast<double>(padded);
  out.samples_per_micro_batch =
      static_cast<double>(lengths.size()) / static_cast<double>(out.micro_batches.size());
  out.balance = BalanceOf(sums, WorkOf(sums, {}), out.order, rule.ranks, rule.micro_batches);
  return out;
}

}  // namespace evenkeel::planner
