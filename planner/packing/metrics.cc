#include "planner/packing/metrics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace evenkeel::planner {
namespace {

// Mean tokens per pack of the steps that lack no pack, and the spread of packs around them.
struct StepMeans {
  double center = 0;  // near the overall mean, to keep sums of squares small
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
  // Analysis of variance: if packs are dealt at random, the spread is 1 on average.
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

}  // namespace

void MeanDistRatio::AddStep(const std::vector<double>& totals) {
  const double most = *std::max_element(totals.begin(), totals.end());
  if (most <= 0) return;
  double short_of_most = 0;
  for (const double total : totals) short_of_most += most - total;
  sum_ += short_of_most / (most * static_cast<double>(totals.size()));
  ++steps_;
}

void BalanceMeter::Totals::Set(std::span<const PackSums> sums, std::span<const PackWork> work,
                               std::span<const int64_t> step, size_t ranks) {
  for (auto* total : {&packs, &units, &tokens, &attention, &vision, &language})
    total->assign(ranks, 0.0);
  const size_t slots = step.size() / ranks;
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

bool BalanceMeter::AddStep(std::span<const int64_t> step, size_t ranks, double speed) {
  ++steps_;
  totals_.Set(sums_, work_, step, ranks);
  if (*std::min_element(totals_.packs.begin(), totals_.packs.end()) == 0) {
    ++holed_;
    return false;
  }
  units_.AddStep(totals_.units);
  tokens_.AddStep(totals_.tokens);
  attention_.AddStep(totals_.attention);
  vision_.AddStep(totals_.vision);
  language_.AddStep(totals_.language);
  double most = 0, waited = 0, tokens = 0;
  for (size_t r = 0; r < ranks; ++r) {
    most = std::max(most, totals_.vision[r] + totals_.language[r]);
    tokens += totals_.tokens[r];
  }
  // The sum is taken rank by rank, because the mean of equal times may round to more than the
  // longest of them.
  for (size_t r = 0; r < ranks; ++r) waited += most - (totals_.vision[r] + totals_.language[r]);
  lost_ += waited / static_cast<double>(ranks) / speed;
  waited_ += most / speed;
  rank_tokens_ += tokens / static_cast<double>(ranks);
  return true;
}

Balance BalanceMeter::Take() const {
  Balance balance;
  balance.steps = steps_;
  balance.holed_steps = holed_;
  balance.dist_ratio_units = units_.Mean();
  balance.dist_ratio_tokens = tokens_.Mean();
  balance.dist_ratio_attention = attention_.Mean();
  balance.dist_ratio_vision_time = vision_.Mean();
  balance.dist_ratio_language_time = language_.Mean();
  balance.idle = waited_ > 0 ? lost_ / waited_ : 0;
  if (steps_ > holed_)
    balance.mean_rank_tokens = rank_tokens_ / static_cast<double>(steps_ - holed_);
  return balance;
}

Balance BalanceOf(std::span<const PackSums> sums, std::span<const PackWork> work,
                  std::span<const int64_t> order, int64_t ranks, int64_t packs_per_rank,
                  const Stop& stop) {
  const size_t step_packs = static_cast<size_t>(ranks * packs_per_rank);
  BalanceMeter meter(sums, work);
  StepMeans means;
  if (!sums.empty()) means.center = static_cast<double>(sums[0].tokens);
  for (size_t begin = 0; begin < order.size(); begin += step_packs) {
    stop.Spend(static_cast<int64_t>(20 * step_packs));
    const auto step = order.subspan(begin, step_packs);
    if (!meter.AddStep(step, static_cast<size_t>(ranks))) continue;
    if (*std::min_element(step.begin(), step.end()) >= 0) means.AddStep(sums, step);
  }
  Balance balance = meter.Take();
  means.Fill(static_cast<double>(step_packs), &balance);
  return balance;
}

}  // namespace evenkeel::planner
