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
                                   int64_t steps) {
  return DealSteps(FormSteps(work, rule, steps), work, rule);
}

FormedSteps FormSteps(std::span<const PackWork> work, const DealRule& rule, int64_t steps_at_most) {
  const int64_t n = std::ssize(work);
  const int64_t step_packs = rule.ranks * rule.packs_per_rank;
  const int64_t full_steps = n / step_packs;
  const int64_t steps = CeilDivide(n, step_packs);
  FormedSteps formed{
      .step_packs = step_packs,
      .packs = std::vector<uint32_t>(work.size()),
      .order = std::vector<uint32_t>(static_cast<size_t>(full_steps)),
      .random = Random(Random(rule.seed).Next() + static_cast<uint64_t>(rule.epoch))};

  std::iota(formed.packs.begin(), formed.packs.end(), 0u);
  formed.random.Shuffle(formed.packs);
  std::iota(formed.order.begin(), formed.order.end(), 0u);
  if (rule.window != 1) formed.random.Shuffle(formed.order);
  if (steps > full_steps) formed.order.push_back(static_cast<uint32_t>(full_steps));
  formed.order.resize(static_cast<size_t>(std::min(steps, steps_at_most)));
  if (rule.window != 1)
    GroupWindows(work, step_packs, rule.window, formed.order, rule.stop, formed.packs);
  return formed;
}

std::vector<int64_t> DealSteps(const FormedSteps& steps, std::span<const PackWork> work,
                               const DealRule& rule) {
  Random random = steps.random;
  const size_t step_packs = static_cast<size_t>(steps.step_packs);
  std::vector<int64_t> order(steps.order.size() * step_packs);
  const std::span<int64_t> rows(order);
  size_t row = 0;
  for (const uint32_t step : steps.order) {
    const size_t begin = step * step_packs;
    const std::span<const uint32_t> packs(steps.packs.data() + begin,
                                          std::min(step_packs, steps.packs.size() - begin));
    rule.stop.Spend(50 * std::ssize(packs));
    const int64_t turn = static_cast<int64_t>(random.Below(static_cast<uint64_t>(rule.ranks)));
    DealToRanks(packs, work, rule, turn, rows.subspan(row, step_packs));
    row += step_packs;
  }
  return order;
}

}  // namespace evenkeel::planner
