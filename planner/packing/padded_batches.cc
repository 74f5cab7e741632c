#include "planner/packing/padded_batches.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/packing/deal.h"
#include "planner/packing/sample.h"
#include "planner/packing/sorted_batches.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kMicroBatchesDrawn = 8192;
constexpr int64_t kShufflesAtMost = 64;          // of the sample
constexpr int64_t kStepsPadded = 16;             // as many as a simulation runs
constexpr int64_t kMicroBatchesDealt = 1 << 20;  // of all steps
constexpr int64_t kMicroBatchesOfStep = 1 << 16;

int64_t RowTokens(int64_t longest, const Training& t) {
  return RoundUp(t.pad_to_tokens > 0 ? t.pad_to_tokens : longest, t.pad_to_multiple);
}

// Sums the `samples` largest of the values, each of which stands for `count` samples.
int64_t SumOfMost(std::vector<std::pair<int64_t, int64_t>> value_and_count, int64_t samples) {
  std::sort(value_and_count.rbegin(), value_and_count.rend());
  int64_t sum = 0;
  for (const auto& [value, count] : value_and_count) {
    const int64_t taken = std::min(samples, count);
    sum += taken * value;
    samples -= taken;
  }
  return sum;
}

// Fills in means and the largest, which follow from the histogram.
void FillMoments(const Job& job, const std::vector<RowLength>& lengths, PaddedMicroBatches& out) {
  const int64_t samples = job.training.micro_batch_samples;
  const double n = D(samples), all = D(SampleCount(job.dataset));
  PaddedRows& rows = out.rows;
  double row_squares = 0;
  for (const RowLength& row : lengths) {
    rows.mean_tokens += row.share * D(row.tokens);
    row_squares += row.share * D(row.tokens) * D(row.tokens);
    rows.longest_tokens = row.tokens;
  }
  std::vector<std::pair<int64_t, int64_t>> scaled;
  PerEncoder<std::vector<std::pair<int64_t, int64_t>>> units;
  for (const LengthBin& bin : job.dataset.bins) {
    const double share = D(bin.count) / all, tokens = D(bin.llm_tokens);
    rows.real += (n * share) * PackShape{bin.units.As<double>(), tokens, tokens * tokens};
    scaled.emplace_back(job.dataset.ScaledUnits(bin), bin.count);
    for (size_t e = 0; e < kEncodersAtMost; ++e) units[e].emplace_back(bin.units[e], bin.count);
  }
  out.mean = {rows.real.units, n * rows.mean_tokens, n * row_squares};
  const double longest = D(rows.longest_tokens);
  out.largest = {{}, n * longest, n * longest * longest};
  for (size_t e = 0; e < kEncodersAtMost; ++e)
    out.largest.units[e] = D(SumOfMost(units[e], samples));
  out.unit_cap = SumOfMost(std::move(scaled), samples);
}

// Returns micro-batches without units, at equal parts of the distribution.
std::vector<PackSums> QuantilesOf(const std::vector<RowLength>& rows, int64_t samples) {
  std::vector<PackSums> packs;
  size_t at = 0;
  double up_to = rows.front().share;
  for (int64_t i = 0; i < kMicroBatchesDrawn; ++i) {
    const double quantile = (D(i) + 0.5) / D(kMicroBatchesDrawn);
    while (up_to < quantile && at + 1 < rows.size()) up_to += rows[++at].share;
    const int64_t row = rows[at].tokens;
    packs.push_back({0, samples * row, samples * row * row, {}});
  }
  return packs;
}

// Sorts every `together` samples of the order, the longest first.
void SortWithin(const Lengths& samples, size_t together, std::vector<uint32_t>& order) {
  for (size_t begin = 0; begin < order.size(); begin += together) {
    const auto from = order.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = begin + together < order.size() ? from + static_cast<std::ptrdiff_t>(together)
                                                    : order.end();
    std::stable_sort(from, to,
                     [&](uint32_t a, uint32_t b) { return samples.tokens[a] > samples.tokens[b]; });
  }
}

// Draws micro-batches from a sample of the dataset, which is shuffled until there are enough.
std::vector<PackSums> DrawMicroBatches(const Job& job, const Lengths& samples, const Stop& stop) {
  const int64_t n = job.training.micro_batch_samples,
                sampled = static_cast<int64_t>(samples.size());
  const size_t size = static_cast<size_t>(std::min(sampled, n));
  const double scale = D(n) / static_cast<double>(size);
  const int64_t per_shuffle = static_cast<int64_t>(samples.size() / size);
  const int64_t shuffles = std::min(kShufflesAtMost, CeilDivide(kMicroBatchesDrawn, per_shuffle));
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0u);
  Random random(job.training.seed + 2);
  const int64_t sorted = SortedTogether(job);
  std::vector<PackSums> packs;
  for (int64_t s = 0; s < shuffles; ++s) {
    stop.Spend(10 * sampled);
    random.Shuffle(order);
    if (sorted > 0) SortWithin(samples, size * static_cast<size_t>(sorted), order);
    for (size_t begin = 0; begin + size <= order.size(); begin += size) {
      PackSums sums;
      int64_t longest = 0;
      for (size_t i = begin; i < begin + size; ++i) {
        longest = std::max<int64_t>(longest, samples.tokens[order[i]]);
        sums.units += samples.units[order[i]];
        sums.encoder_units += samples.UnitsOf(order[i]);
      }
      const int64_t row = RowTokens(longest, job.training);
      sums.tokens = n * row;
      sums.squared = n * row * row;
      if (scale > 1) {  // the micro-batch has more samples than were drawn
        const auto scaled = [&](int64_t units) {
          return Nearest(scale * static_cast<double>(units));
        };
        sums.units = scaled(sums.units);
        for (size_t e = 0; e < kEncodersAtMost; ++e)
          sums.encoder_units[e] = scaled(sums.encoder_units[e]);
      }
      packs.push_back(sums);
    }
  }
  return packs;
}

// Probabilities at the points `step` x (first + i) of a grid.
struct Grid {
  double step = 1;
  int64_t first = 0;
  std::vector<double> mass;
};

constexpr size_t kPointsAtFirst = 512, kPointsAtMost = 2048;
// Probability of a lower tail that moves up to the next point, and of an upper one that is dropped.
constexpr double kNegligible = 1e-15, kDropped = 1e-30;

void TrimLower(Grid& grid) {
  size_t drop = 0;
  double tail = 0;
  while (drop + 1 < grid.mass.size() && tail + grid.mass[drop] < kNegligible)
    tail += grid.mass[drop++];
  grid.mass.erase(grid.mass.begin(), grid.mass.begin() + static_cast<std::ptrdiff_t>(drop));
  grid.mass.front() += tail;
  grid.first += static_cast<int64_t>(drop);
}

// Doubles the step. Points in between move down, or half of each to both sides.
Grid Coarser(const Grid& grid, bool spread) {
  Grid out{2 * grid.step, grid.first / 2, {}};
  out.mass.resize(grid.mass.size() / 2 + 2);
  for (size_t i = 0; i < grid.mass.size(); ++i) {
    const int64_t point = grid.first + static_cast<int64_t>(i);
    const size_t at = static_cast<size_t>(point / 2 - out.first);
    const bool between = point % 2 != 0;
    out.mass[at] += between && spread ? grid.mass[i] / 2 : grid.mass[i];
    if (between && spread) out.mass[at + 1] += grid.mass[i] / 2;
  }
  return out;
}

Grid Sum(Grid a, Grid b, bool spread) {
  while (a.step < b.step) a = Coarser(a, spread);
  while (b.step < a.step) b = Coarser(b, spread);
  Grid out{a.step, a.first + b.first, {}};
  out.mass.resize(a.mass.size() + b.mass.size() - 1);
  for (size_t i = 0; i < a.mass.size(); ++i) {
    if (a.mass[i] == 0) continue;
    for (size_t j = 0; j < b.mass.size(); ++j) out.mass[i + j] += a.mass[i] * b.mass[j];
  }
  TrimLower(out);
  while (out.mass.size() > 1 && out.mass.back() < kDropped) out.mass.pop_back();
  while (out.mass.size() > kPointsAtMost) out = Coarser(out, spread);
  return out;
}

double StepFor(const std::vector<Outcome>& outcomes) {
  double most = 0;
  for (const Outcome& o : outcomes) most = std::max(most, o.value);
  return most / static_cast<double>(kPointsAtFirst);
}

double LargestOnGrid(const std::vector<Outcome>& outcomes, double step, int64_t terms,
                     int64_t ranks, bool spread) {
  Grid power{step, 0, std::vector<double>(kPointsAtFirst + 2)};
  for (const Outcome& o : outcomes) {
    const double place = o.value / step;
    const size_t below = static_cast<size_t>(place);
    const double above = spread ? place - static_cast<double>(below) : 0;
    power.mass[below] += (1 - above) * o.probability;
    power.mass[below + 1] += above * o.probability;
  }
  TrimLower(power);
  Grid sum{step, 0, {1}};
  for (int64_t left = terms; left > 0; left /= 2) {
    if (left % 2 != 0) sum = Sum(std::move(sum), power, spread);
    if (left > 1) power = Sum(power, power, spread);
  }
  // The largest is above a point unless all sums are at most that.
  double expected = sum.step * static_cast<double>(sum.first), at_most = 0;
  for (size_t i = 0; i + 1 < sum.mass.size(); ++i) {
    at_most = std::min(1.0, at_most + sum.mass[i]);
    double all = 1, factor = at_most;
    for (int64_t left = ranks; left > 0; left /= 2, factor *= factor)
      if (left % 2 != 0) all *= factor;
    expected += sum.step * (1 - all);
  }
  return expected;
}

std::vector<Outcome> WorkOutcomes(const Job& job, const std::vector<PackSums>& packs,
                                  const PackTimes& times) {
  std::vector<Outcome> outcomes;
  if (job.dataset.has_units()) {
    const double share = 1 / static_cast<double>(packs.size());
    for (const PackWork& work : WorkOf(packs, times))
      outcomes.push_back({D(int64_t{work.vision} + work.language), share});
    return outcomes;
  }
  for (const RowLength& row : RowLengthsOf(job.dataset, job.training)) {
    const double per_token =
        times.language_per_token + times.language_per_squared_token * D(row.tokens);
    outcomes.push_back({D(row.tokens) * per_token, row.share});
  }
  return outcomes;
}

}  // namespace

std::vector<RowLength> RowLengthsOf(const Dataset& dataset, const Training& training,
                                    int64_t sorted) {
  std::map<int64_t, int64_t> lengths;  // samples of each length
  for (const LengthBin& bin : dataset.bins) lengths[bin.llm_tokens] += bin.count;
  const int64_t all = SampleCount(dataset), n = training.micro_batch_samples;
  std::vector<RowLength> rows;
  int64_t at_most = 0;
  double before = 0;
  for (const auto& [tokens, count] : lengths) {
    at_most += count;
    double none_longer = at_most < n ? 0 : 1;
    for (int64_t i = 0; i < n && none_longer > 0 && sorted == 0; ++i)
      none_longer *= static_cast<double>(at_most - i) / static_cast<double>(all - i);
    if (sorted > 0) none_longer = std::max(before, ShareWithout(all - at_most, all, n, sorted));
    const int64_t row = RowTokens(tokens, training);
    const double share = none_longer - before;
    before = none_longer;
    if (!rows.empty() && rows.back().tokens == row)
      rows.back().share += share;
    else
      rows.push_back({row, share});
  }
  return rows;
}

PaddedMicroBatches PadMicroBatches(const Job& job, int64_t sampled_at_most, const Stop& stop) {
  PaddedMicroBatches out;
  const int64_t sorted = SortedTogether(job);
  const std::vector<RowLength> rows = RowLengthsOf(job.dataset, job.training, sorted);
  FillMoments(job, rows, out);
  out.rows.sorted = sorted;
  if (!job.dataset.has_units()) {
    out.packs = QuantilesOf(rows, job.training.micro_batch_samples);
    return out;
  }
  const DrawnSamples samples = DrawSamples(job.dataset, sampled_at_most);
  out.sampled = static_cast<int64_t>(samples.tokens.size());
  out.packs = DrawMicroBatches(job, samples.lengths(), stop);
  return out;
}

std::vector<PackSums> PaddedSteps(const std::vector<PackSums>& packs, const PackTimes& times,
                                  uint64_t seed, int64_t data, int64_t micro_batches,
                                  int64_t sorted, const Stop& stop) {
  const std::vector<PackWork> work = WorkOf(packs, times);
  std::vector<size_t> order(packs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return int64_t{work[a].vision} + work[a].language < int64_t{work[b].vision} + work[b].language;
  });
  Random random(seed + 1);
  const int64_t per_step = CappedProduct(data, micro_batches);
  std::vector<PackSums> dealt;
  if (per_step > kMicroBatchesOfStep) {
    random.Shuffle(order);
    for (const size_t pack : order) dealt.push_back(packs[pack]);
    return dealt;
  }
  const int64_t steps = std::clamp<int64_t>(kMicroBatchesDealt / per_step, 1, kStepsPadded);
  stop.Spend(40 * steps * per_step);
  if (sorted > 0) {
    for (const double place : SortedPlaces(sorted, steps, data, micro_batches)) {
      const auto from_shortest =
          static_cast<size_t>((1 - place) * static_cast<double>(order.size()));
      dealt.push_back(packs[order[std::min(from_shortest, order.size() - 1)]]);
    }
    return dealt;
  }
  const size_t step_size = static_cast<size_t>(per_step);
  // The cells of each part of the distribution, in random order.
  std::vector<std::vector<size_t>> cells(static_cast<size_t>(steps));
  for (size_t part = 0; part < cells.size(); ++part) {
    cells[part].resize(step_size);
    std::iota(cells[part].begin(), cells[part].end(), part * step_size);
    random.Shuffle(cells[part]);
  }
  dealt.resize(cells.size() * step_size);
  std::vector<size_t> parts(cells.size());
  for (size_t k = 0; k < step_size; ++k) {
    std::iota(parts.begin(), parts.end(), size_t{0});
    random.Shuffle(parts);
    for (size_t s = 0; s < parts.size(); ++s) {
      const size_t middle = (2 * cells[parts[s]][k] + 1) * order.size() / (2 * dealt.size());
      dealt[s * step_size + k] = packs[order[middle]];
    }
  }
  return dealt;
}

LargestSum ExpectedLargestSum(const std::vector<Outcome>& outcomes, int64_t terms, int64_t ranks) {
  const double step = StepFor(outcomes);
  return {LargestOnGrid(outcomes, step, terms, ranks, false),
          LargestOnGrid(outcomes, step, terms, ranks, true)};
}

double SlowestRankRatio(const Job& job, const std::vector<PackSums>& packs, const PackTimes& times,
                        int64_t data, int64_t micro_batches) {
  if (const int64_t sorted = SortedTogether(job); sorted > 0) {
    std::vector<double> ascending;
    for (const PackWork& work : WorkOf(packs, times))
      ascending.push_back(D(int64_t{work.vision} + work.language));
    std::sort(ascending.begin(), ascending.end());
    return SlowestOfSorted(ascending, sorted, data, micro_batches);
  }
  const std::vector<Outcome> outcomes = WorkOutcomes(job, packs, times);
  double mean = 0;
  for (const Outcome& o : outcomes) mean += o.probability * o.value;
  if (!(mean > 0)) return 1;
  const double largest =
      LargestOnGrid(outcomes, StepFor(outcomes), micro_batches, data, /*spread=*/true);
  return std::max(1.0, largest / (mean * D(micro_batches)));
}

}  // namespace evenkeel::planner
