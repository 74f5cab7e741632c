#include "planner/packing/metrics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace evenkeel::planner {
namespace {

struct WaitingTime {
  double lost = 0, all = 0;

  void AddStep(const std::vector<double>& vision, const std::vector<double>& language) {
    double most = 0, sum = 0;
    for (size_t r = 0; r < vision.size(); ++r) {
      most = std::max(most, vision[r] + language[r]);
      sum += vision[r] + language[r];
    }
    lost += most - sum / static_cast<double>(vision.size());
    all += most;
  }
};

// Mean tokens per pack of the steps that lack nothing, and how far packs are spread around it.
struct StepMeans {
  double center = 0;  // near the mean of all: keeps sums of squares small
  std::vector<double> means;
  double squares = 0;  // of the packs' distances from the center

  void AddStep(std::span<const PackSums> sums, std::span<const int64_t> step) {
    double sum = 0;
    for (const int64_t pack : step) {
      const double d = static_cast<double>(sums[static_cast<size_t>(pack)].tokens) - center;
      sum += d;
      squares += d * d;
    }
    means.push_back(sum / static_cast<double>(step.size()));
  }
  // Analysis of variance: with packs dealt at random, spread is 1 on average.
  void Fill(double step_packs, Balance* balance) const {
    const double n = static_cast<double>(means.size());
    if (means.size() < 2) return;
    double mean = 0;
    for (const double m : means) mean += m / n;
    const double packs = n * step_packs;
    const double variance = (squares - packs * mean * mean) / (packs - 1);
    double between = 0, along = 0;
    for (size_t i = 0; i < means.size(); ++i) {
      between += (means[i] - mean) * (means[i] - mean);
      along += (means[i] - mean) * (static_cast<double>(i) - (n - 1) / 2);
    }
    const double numbers = n * (n * n - 1) / 12;  // squared distances of the step numbers
    if (variance <= 0 || between <= 0) return;
    balance->step_spread = between / (n - 1) * step_packs / variance;
    balance->step_trend = along / std::sqrt(between * numbers);
  }
};

// Per rank of one step.
struct Totals {
  explicit Totals(size_t ranks)
      : packs(ranks),
        units(ranks),
        tokens(ranks),
        attention(ranks),
        vision(ranks),
        language(ranks) {}

  std::vector<double> packs, units, tokens, attention, vision, language;

  void Set(std::span<const PackSums> sums, std::span<const PackWork> work,
           std::span<const int64_t> step) {
    for (auto* total : {&packs, &units, &tokens, &attention, &vision, &language}) {
      std::fill(total->begin(), total->end(), 0.0);
    }
    const size_t slots = step.size() / packs.size();
    for (size_t i = 0; i < step.size(); ++i) {
      if (step[i] < 0) continue;
      const size_t rank = i / slots, pack = static_cast<size_t>(step[i]);
      ++packs[rank];
      units[rank] += static_cast<double>(sums[pack].units);
      tokens[rank] += static_cast<double>(sums[pack].tokens);
      attention[rank] += static_cast<double>(sums[pack].squared);
      vision[rank] += work[pack].vision;
      language[rank] += work[pack].language;
    }
  }
};

}  // namespace

void MeanDistRatio::AddStep(const std::vector<double>& totals) {
  const double most = *std::max_element(totals.begin(), totals.end());
  if (most <= 0) return;
  double short_of_most = 0;
  for (const double total : totals) short_of_most += most - total;
  sum_ += short_of_most / (most * static_cast<double>(totals.size()));
  ++steps_;
}

Balance BalanceOf(std::span<const PackSums> sums, std::span<const PackWork> work,
                  std::span<const int64_t> order, int64_t ranks, int64_t packs_per_rank) {
  const size_t step_packs = static_cast<size_t>(ranks * packs_per_rank);
  Balance balance;
  balance.steps = static_cast<int64_t>(order.size() / step_packs);
  MeanDistRatio units, tokens, attention, vision, language;
  WaitingTime waiting;
  StepMeans means;
  if (!sums.empty()) means.center = static_cast<double>(sums[0].tokens);
  Totals totals(static_cast<size_t>(ranks));
  for (size_t begin = 0; begin < order.size(); begin += step_packs) {
    const auto step = order.subspan(begin, step_packs);
    totals.Set(sums, work, step);
    if (*std::min_element(totals.packs.begin(), totals.packs.end()) == 0) {
      ++balance.holed_steps;
      continue;
    }
    units.AddStep(totals.units);
    tokens.AddStep(totals.tokens);
    attention.AddStep(totals.attention);
    vision.AddStep(totals.vision);
    language.AddStep(totals.language);
    waiting.AddStep(totals.vision, totals.language);
    if (*std::min_element(step.begin(), step.end()) >= 0) means.AddStep(sums, step);
  }
  balance.dist_ratio_units = units.Mean();
  balance.dist_ratio_tokens = tokens.Mean();
  balance.dist_ratio_attention = attention.Mean();
  balance.dist_ratio_vision_time = vision.Mean();
  balance.dist_ratio_language_time = language.Mean();
  balance.idle = waiting.all > 0 ? waiting.lost / waiting.all : 0;
  means.Fill(static_cast<double>(step_packs), &balance);
  return balance;
}

}  // namespace evenkeel::planner
