#include "planner/packing/dealt_packs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/packing/padded_batches.h"
#include "planner/packing/rank_deal.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kStepsDealt = 64;        // of the sample
constexpr int64_t kDealtAtMost = 1 << 16;  // packs of a step; if there are more, they are taken in
                                           // their order

std::vector<PackShape> ShapesOf(const std::vector<PackSums>& packs) {
  std::vector<PackShape> shapes;
  shapes.reserve(packs.size());
  for (const PackSums& sums : packs) shapes.push_back(ShapeOf(sums));
  return shapes;
}

// Predicts steps of a whole epoch whose packs are grouped by work, from a sample of the packs. A
// step holds neighbours among all packs, and these are closer together than the packs of the
// sample. So packs are interpolated between those of the sample, for evenly spaced steps of the
// epoch.
std::vector<PackShape> AlikeSteps(const Batching& batching, int64_t data, int64_t micro_batches,
                                  int64_t steps_of_epoch, const Stop& stop) {
  std::vector<PackSums> sorted = batching.packs;
  const auto work_of = [](const PackWork& w) { return int64_t{w.vision} + w.language; };
  std::vector<PackWork> work = WorkOf(sorted, batching.rule.pack_times);
  std::vector<size_t> order(sorted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return work_of(work[a]) < work_of(work[b]); });
  const int64_t per_step = data * micro_batches;
  const int64_t steps = std::min(steps_of_epoch, kStepsDealt);
  const double last = static_cast<double>(sorted.size() - 1);
  const double all = static_cast<double>(steps_of_epoch * per_step);
  std::vector<PackSums> dealt;
  for (int64_t s = 0; s < steps; ++s) {
    stop.Spend(20 * per_step);
    const int64_t step = (2 * s + 1) * steps_of_epoch / (2 * steps);
    for (int64_t k = 0; k < per_step; ++k) {
      const double place = (static_cast<double>(step * per_step + k) + 0.5) / all * last;
      const size_t below = static_cast<size_t>(place);
      const PackSums& a = sorted[order[below]];
      const PackSums& b = sorted[order[std::min(below + 1, order.size() - 1)]];
      const double share = place - static_cast<double>(below);
      const auto between = [&](int64_t x, int64_t y) {
        return x + Nearest(share * static_cast<double>(y - x));
      };
      dealt.push_back(
          {between(a.units, b.units), between(a.tokens, b.tokens), between(a.squared, b.squared)});
      for (size_t e = 0; e < kEncodersAtMost; ++e)
        dealt.back().encoder_units[e] = between(a.encoder_units[e], b.encoder_units[e]);
    }
  }
  work = WorkOf(dealt, batching.rule.pack_times);
  const DealRule rule{.ranks = data, .packs_per_rank = micro_batches, .stop = stop};
  std::vector<uint32_t> packs(static_cast<size_t>(per_step));
  std::vector<int64_t> row(packs.size());
  std::vector<PackShape> shapes;
  for (int64_t s = 0; s < steps; ++s) {
    stop.Spend(100 * per_step);
    std::iota(packs.begin(), packs.end(), static_cast<uint32_t>(s * per_step));
    DealToRanks(packs, work, rule, 0, row);
    for (const int64_t pack : row) shapes.push_back(ShapeOf(dealt[static_cast<size_t>(pack)]));
  }
  return shapes;
}

}  // namespace

const std::vector<PackShape>& PackDealer::Deal(int64_t data, int64_t micro_batches) {
  const auto [at, added] = dealt_.try_emplace(std::pair(data, micro_batches));
  if (added) at->second = Dealt(data, micro_batches);
  return at->second;
}

std::vector<PackShape> PackDealer::Dealt(int64_t data, int64_t micro_batches) {
  const BatchRule& batch = batching_.rule;
  if (batching_.padded)
    return ShapesOf(PaddedSteps(batching_.packs, batch.pack_times, batch.seed, data, micro_batches,
                                batching_.padded->sorted, stop_));
  const std::vector<PackSums>& sampled = batching_.packs;
  if (std::equal(sampled.begin() + 1, sampled.end(), sampled.begin()))
    return {ShapeOf(sampled.front())};
  const int64_t per_step = CappedProduct(data, micro_batches);
  const int64_t steps_of_epoch = CeilDivide(batch.packs, per_step);
  if (batch.order_window >= steps_of_epoch && per_step <= kDealtAtMost &&
      std::ssize(sampled) < steps_of_epoch * per_step)
    return AlikeSteps(batching_, data, micro_batches, steps_of_epoch, stop_);
  if (per_step > kDealtAtMost) return ShapesOf(Shuffled());
  const DealRule rule{.ranks = data,
                      .packs_per_rank = micro_batches,
                      .window = batch.order_window,
                      .seed = batch.seed,
                      .stop = stop_};
  const StepsOfPacks& formed = StepsFor(rule);
  std::vector<PackShape> dealt;
  for (const int64_t pack : DealSteps(formed.steps, formed.work, rule))
    dealt.push_back(ShapeOf(formed.packs[static_cast<size_t>(pack)]));
  return dealt;
}

std::vector<PackSums> PackDealer::Shuffled() const {
  std::vector<PackSums> packs = batching_.packs;
  Random(batching_.rule.seed + 1).Shuffle(packs);
  return packs;
}

const PackDealer::StepsOfPacks& PackDealer::StepsFor(const DealRule& rule) {
  const int64_t per_step = rule.ranks * rule.packs_per_rank;
  const auto found = formed_.find(per_step);
  if (found != formed_.end()) return found->second;
  std::vector<PackSums> packs = Shuffled();
  const size_t step = static_cast<size_t>(per_step), before = packs.size();
  const size_t steps = std::clamp<size_t>(before / step, 1, static_cast<size_t>(kStepsDealt));
  packs.resize(steps * step);
  for (size_t i = before; i < packs.size(); ++i) packs[i] = packs[i % before];
  std::vector<PackWork> work = WorkOf(packs, batching_.rule.pack_times);
  FormedSteps formed = FormSteps(work, rule, steps_at_most_);
  return formed_
      .emplace(per_step, StepsOfPacks{std::move(packs), std::move(work), std::move(formed)})
      .first->second;
}

std::vector<PackShape> DealtPacks(const Batching& batching, int64_t data, int64_t micro_batches,
                                  const Stop& stop) {
  return PackDealer(batching, stop).Deal(data, micro_batches);
}

}  // namespace evenkeel::planner
