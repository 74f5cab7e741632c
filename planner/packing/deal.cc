#include "planner/packing/deal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/packing/alike_steps.h"
#include "planner/packing/rank_deal.h"

namespace evenkeel::planner {
namespace {

double VisionTime(const PackSums& sum, const PackTimes& times) {
  double time = 0;
  for (size_t e = 0; e < kEncodersAtMost; ++e) {
    const int64_t units = sum.encoder_units[e];
    time += times.vision_per_unit[e] * static_cast<double>(units > 0 ? units : times.dummy_units);
  }
  return time;
}

double LanguageTime(const PackSums& sum, const PackTimes& times) {
  return times.language_per_token * static_cast<double>(sum.tokens) +
         times.language_per_squared_token * static_cast<double>(sum.squared);
}

// Reorders the packs of each window that has some of these steps, so that its steps follow each
// other.
void GroupWindows(std::span<const PackWork> work, int64_t step_packs, int64_t window_steps,
                  std::span<const uint32_t> steps, const Stop& stop, std::vector<uint32_t>& packs) {
  const int64_t n = static_cast<int64_t>(packs.size());
  const int64_t size = window_steps == 0 ? n : std::min(n, CappedProduct(window_steps, step_packs));
  if (n == 0) return;
  std::vector<bool> needed(static_cast<size_t>(CeilDivide(n, size)));
  for (const uint32_t step : steps) needed[static_cast<size_t>(step * step_packs / size)] = true;
  std::vector<WorkItem> window;
  for (int64_t begin = 0; begin < n; begin += size) {
    if (!needed[static_cast<size_t>(begin / size)]) continue;
    window.resize(static_cast<size_t>(std::min(size, n - begin)));
    const auto first = packs.begin() + begin;
    for (size_t i = 0; i < window.size(); ++i) {
      const uint32_t pack = first[static_cast<std::ptrdiff_t>(i)];
      window[i] = {{work[pack].vision, work[pack].language}, pack};
    }
    GroupAlike(window, step_packs, stop);
    std::transform(window.begin(), window.end(), first, [](const WorkItem& i) { return i.pack; });
  }
}

}  // namespace

std::vector<PackWork> WorkOf(std::span<const PackSums> sums, const PackTimes& times) {
  double longest = 0;
  for (const PackSums& sum : sums) {
    longest = std::max({longest, VisionTime(sum, times), LanguageTime(sum, times)});
  }
  std::vector<PackWork> work(sums.size());
  if (!(longest > 0)) return work;
  const double scale = std::ldexp(1.0, 29 - std::ilogb(longest));
  const auto round = [&](double time) { return static_cast<int32_t>(time * scale + 0.5); };
  for (size_t i = 0; i < sums.size(); ++i) {
    work[i] = {round(VisionTime(sums[i], times)), round(LanguageTime(sums[i], times))};
  }
  return work;
}

std::vector<int64_t> Deal(std::span<const PackWork> work, const DealRule& rule) {
  return DealBeginning(work, rule, std::ssize(work));
}

std::vector<int64_t> DealBeginning(std::span<const PackWork> work, const DealRule& rule,
                                   int64_t steps_at_most) {
  const int64_t n = std::ssize(work);
  const int64_t step_packs = rule.ranks * rule.packs_per_rank;
  const int64_t full_steps = n / step_packs;
  const int64_t steps = CeilDivide(n, step_packs);
  Random random(Random(rule.seed).Next() + static_cast<uint64_t>(rule.epoch));

  std::vector<uint32_t> packs(work.size());
  std::iota(packs.begin(), packs.end(), 0u);
  random.Shuffle(packs);
  std::vector<uint32_t> step_order(static_cast<size_t>(full_steps));
  std::iota(step_order.begin(), step_order.end(), 0u);
  if (rule.window != 1) random.Shuffle(step_order);
  if (steps > full_steps) step_order.push_back(static_cast<uint32_t>(full_steps));
  step_order.resize(static_cast<size_t>(std::min(steps, steps_at_most)));
  if (rule.window != 1) GroupWindows(work, step_packs, rule.window, step_order, rule.stop, packs);

  std::vector<int64_t> order(step_order.size() * static_cast<size_t>(step_packs));
  int64_t* row = order.data();
  for (const uint32_t step : step_order) {
    const int64_t begin = step * step_packs;
    const int64_t size = std::min(step_packs, n - begin);
    rule.stop.Spend(50 * size);
    const int64_t turn = static_cast<int64_t>(random.Below(static_cast<uint64_t>(rule.ranks)));
    DealToRanks({packs.data() + begin, static_cast<size_t>(size)}, work, rule, turn,
                {row, static_cast<size_t>(step_packs)});
    row += step_packs;
  }
  return order;
}

}  // namespace evenkeel::planner
