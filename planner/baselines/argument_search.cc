#include "planner/baselines/argument_search.h"

#include <algorithm>
#include <numeric>

#include "planner/base/integers.h"
#include "planner/packing/deal.h"
#include "planner/packing/metrics.h"
#include "planner/packing/packer.h"

namespace evenkeel::planner {
namespace {

int64_t Sum(std::span<const int32_t> values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

ArgumentTry Try(const Lengths& lengths, const Caps& caps, const ArgumentRule& rule) {
  PackRule pack;
  pack.packer = Packer::kIsf;
  pack.caps = caps;
  pack.seed = rule.seed;
  pack.keep_units = caps.units;
  pack.keep_tokens = std::max<int64_t>(1, caps.tokens - rule.keep_slack);
  pack.iterations = rule.iterations;
  const Packing packing = Pack(lengths, pack);
  const std::vector<PackSums> sums = SumsOf(lengths, packing);
  const std::vector<PackWork> work = WorkOf(sums, {});
  DealRule deal;
  deal.ranks = rule.ranks;
  deal.seed = rule.seed;
  const Balance balance = BalanceOf(sums, work, Deal(work, deal), deal.ranks, deal.packs_per_rank);
  ArgumentTry tried;
  tried.caps = caps;
  tried.samples_per_pack =
      static_cast<double>(lengths.size()) / static_cast<double>(packing.size());
  tried.dist_ratio_units = balance.dist_ratio_units;
  tried.dist_ratio_tokens = balance.dist_ratio_tokens;
  const double least = static_cast<double>(rule.micro_batch);
  tried.in_range = tried.samples_per_pack >= least && tried.samples_per_pack <= least + 1;
  return tried;
}

}  // namespace

ArgumentSearchResult SearchArguments(const Lengths& lengths, const ArgumentRule& rule) {
  ArgumentSearchResult search;
  if (lengths.size() == 0) return search;
  const int64_t units = Sum(lengths.units), tokens = Sum(lengths.tokens);
  const int64_t samples = static_cast<int64_t>(lengths.size());
  search.tokens_per_unit =
      RoundUp(CeilDivide(tokens, units > 0 ? units : samples), rule.round_tokens);
  const int64_t unit_step = units > 0 ? 1 : 0, token_step = search.tokens_per_unit;
  Caps caps = {unit_step * (rule.start_tokens / token_step), rule.start_tokens};
  caps.units = std::max(caps.units, unit_step);

  const double least = static_cast<double>(rule.micro_batch);
  const auto distance = [&](const ArgumentTry& t) {
    return t.in_range ? 0 : std::max(least - t.samples_per_pack, t.samples_per_pack - least - 1);
  };
  const auto better = [&](const ArgumentTry& a, const ArgumentTry& b) {
    if (a.in_range && b.in_range) return a.score() < b.score();
    return distance(a) < distance(b);
  };
  int64_t direction = 0;
  while (static_cast<int64_t>(search.tries.size()) < rule.tries_at_most) {
    search.tries.push_back(Try(lengths, caps, rule));
    const ArgumentTry& tried = search.tries.back();
    if (better(tried, search.tries[search.best])) search.best = search.tries.size() - 1;
    if (direction == 0) direction = tried.samples_per_pack > least + 1 ? -1 : 1;
    const bool beyond =
        direction > 0 ? tried.samples_per_pack > least + 1 : tried.samples_per_pack < least;
    caps.units += direction * unit_step;
    caps.tokens += direction * token_step;
    if (beyond || caps.tokens < 1 || caps.units < unit_step) break;
  }
  search.reached = search.tries[search.best].in_range;
  return search;
}

}  // namespace evenkeel::planner
