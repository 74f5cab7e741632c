#include "tests/reference/best_deal.h"

#include <algorithm>
#include <functional>

namespace evenkeel::planner::reference {
namespace {

double DistRatio(const std::vector<double>& x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double value : x) sum += most - value;
  return most > 0 ? sum / (most * static_cast<double>(x.size())) : 0;
}

double Both(const NaiveWork& totals) {
  std::vector<double> vision, language;
  for (const auto& [v, l] : totals) vision.push_back(v), language.push_back(l);
  return DistRatio(vision) + DistRatio(language);
}

// Tries all partitions into `parts` sets of `size`. The next pack goes to any set that has room,
// but only to the first of the sets that are still empty.
void ForEachPartition(size_t packs, size_t parts, size_t size,
                      const std::function<void(const std::vector<std::vector<size_t>>&)>& visit) {
  std::vector<std::vector<size_t>> sets(parts);
  const std::function<void(size_t)> place = [&](size_t pack) {
    if (pack == packs) return visit(sets);
    for (std::vector<size_t>& set : sets) {
      if (set.size() == size) continue;
      const bool was_empty = set.empty();
      set.push_back(pack);
      place(pack + 1);
      set.pop_back();
      if (was_empty) break;
    }
  };
  place(0);
}

}  // namespace

double BestStep(const NaiveWork& packs, size_t ranks) {
  double best = 2;
  ForEachPartition(packs.size(), ranks, packs.size() / ranks, [&](const auto& hands) {
    NaiveWork totals(ranks);
    for (size_t r = 0; r < ranks; ++r) {
      for (const size_t p : hands[r]) {
        totals[r].first += packs[p].first, totals[r].second += packs[p].second;
      }
    }
    best = std::min(best, Both(totals));
  });
  return best;
}

double BestSteps(const NaiveWork& packs, size_t ranks) {
  const size_t steps = packs.size() / ranks;
  double best = 2;
  ForEachPartition(packs.size(), steps, ranks, [&](const auto& sets) {
    double sum = 0;
    for (const auto& set : sets) {
      NaiveWork step;
      for (const size_t p : set) step.push_back(packs[p]);
      sum += Both(step);
    }
    best = std::min(best, sum / static_cast<double>(steps));
  });
  return best;
}

}  // namespace evenkeel::planner::reference
