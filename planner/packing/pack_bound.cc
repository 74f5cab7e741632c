#include "planner/packing/pack_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/packing/cutting_stock.h"
#include "planner/packing/sample_groups.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kUnitCellsAtMost = 128;
constexpr size_t kPriceGroups = 96;
constexpr int64_t kPriceWidths = 256, kPriceCells = 1024, kLeastPriceCells = 64;
constexpr int64_t kPriceWork = 500'000;  // limit of one pricing: cells of the grid x groups
constexpr int64_t kHopelessWork = 5'000'000;
constexpr int64_t kProofWork = 200'000'000;  // limit of the proof: cells x types
constexpr int64_t kProofCells = 4'000'000;
constexpr int64_t kCloseParts = 2000;

// Sizes of samples that fit alone, merged if they share a cell of a coarser grid. Sizes are rounded
// down, so every packing of the samples is also a packing of the cells.
struct Relaxed {
  std::vector<StockGroup> groups;
  int64_t unit_cells = 0, token_cells = 0;
};

Relaxed Relax(const SampleTypes& types, const Caps& caps, int64_t unit_cell, int64_t token_cell,
              const Stop& stop) {
  Relaxed relaxed{{}, caps.units / unit_cell, caps.tokens / token_cell};
  for (const SampleType& t : types) {
    if (!caps.Hold(t.units, t.tokens)) continue;
    relaxed.groups.push_back({t.units / unit_cell, t.tokens / token_cell, t.count});
  }
  const auto less = [&stop](const StockGroup& a, const StockGroup& b) {
    stop.Spend(5);
    return a.units != b.units ? a.units < b.units : a.tokens < b.tokens;
  };
  std::sort(relaxed.groups.begin(), relaxed.groups.end(), less);
  std::vector<StockGroup> merged;
  for (const StockGroup& g : relaxed.groups) {
    if (g.units == 0 && g.tokens == 0) continue;  // takes no room on this grid
    if (!merged.empty() && !less(merged.back(), g))
      merged.back().demand += g.demand;
    else
      merged.push_back(g);
  }
  relaxed.groups = std::move(merged);
  return relaxed;
}

// Returns the bound that prices of samples prove: the contents of a pack are worth at most the
// price of the best pattern (Farley 1990). Prices are first rounded down to integers, so the proof
// does not depend on floating point.
int64_t ProvenBound(const Relaxed& relaxed, const std::vector<double>& prices, const Stop& stop) {
  constexpr double kOne = 1 << 24;
  std::vector<int64_t> whole;
  Wide worth = 0;
  for (size_t g = 0; g < prices.size(); ++g) {
    whole.push_back(static_cast<int64_t>(std::floor(std::max(prices[g], 0.0) * kOne)));
    worth += static_cast<Wide>(whole.back()) * relaxed.groups[g].demand;
  }
  const int64_t best =
      BestPatternPrice(relaxed.groups, relaxed.unit_cells, relaxed.token_cells, whole, stop);
  return best == 0 ? 0 : static_cast<int64_t>((worth + best - 1) / best);
}

// Returns the price of a sample between the least samples of two groups of equal units: on a
// straight line, or as a step; constant beyond the ends.
double PriceOf(const std::vector<SampleGroup>& groups, const std::vector<double>& prices,
               int64_t units, double tokens, bool step) {
  size_t below = groups.size(), above = groups.size();
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].units != units) continue;
    if (static_cast<double>(groups[g].least_tokens) <= tokens) below = g;
    if (static_cast<double>(groups[g].least_tokens) > tokens && above == groups.size()) above = g;
  }
  if (below == groups.size()) return prices[above];
  if (above == groups.size() || step) return prices[below];
  const double from = static_cast<double>(groups[below].least_tokens),
               to = static_cast<double>(groups[above].least_tokens);
  return prices[below] + (prices[above] - prices[below]) * (tokens - from) / (to - from);
}

int64_t ByUnits(const SampleTypes& types, const Caps& caps, const Stop& stop) {
  const Relaxed relaxed =
      Relax(types, caps, CeilDivide(caps.units, kUnitCellsAtMost), caps.tokens + 1, stop);
  if (relaxed.groups.empty()) return 0;
  const StockProblem problem{.groups = relaxed.groups,
                             .unit_cells = relaxed.unit_cells,
                             .token_cells = relaxed.token_cells,
                             .extra_cost = {},
                             .stop = stop};
  return ProvenBound(relaxed, SolveCuttingStock(problem).prices, stop);
}

// Removes units, which can be ignored if a full token cap never holds too many of them.
SampleTypes WithoutUnits(SampleTypes types, const Stop& stop) {
  for (SampleType& t : types) t.units = 0;
  std::sort(types.begin(), types.end(), [&stop](const SampleType& a, const SampleType& b) {
    stop.Spend(5);
    return a.tokens < b.tokens;
  });
  SampleTypes merged;
  for (const SampleType& t : types) {
    if (!merged.empty() && merged.back().tokens == t.tokens)
      merged.back().count += t.count;
    else
      merged.push_back(t);
  }
  return merged;
}

// Each group counts as its least sample, so that the bound holds for all samples. The prices give
// two bounds: as they are, and interpolated in straight lines between the groups over exact
// lengths.
int64_t ByUnitsAndTokens(const SampleTypes& types, const Caps& given, const Stop& stop) {
  Caps caps = given;
  SampleTypes fitting;
  bool units_bind = false;
  for (const SampleType& t : types) {
    if (!caps.Hold(t.units, t.tokens)) continue;
    fitting.push_back(t);
    units_bind = units_bind || caps.UnitsBind(t.units, t.tokens);
  }
  if (!units_bind) fitting = WithoutUnits(std::move(fitting), stop), caps.units = 0;
  const std::vector<SampleGroup> groups =
      GroupSamples(fitting, std::max<int64_t>(1, caps.tokens / kPriceWidths), kPriceGroups, stop);
  if (groups.empty()) return 0;
  const int64_t rows = (caps.units + 1) * static_cast<int64_t>(groups.size());
  const int64_t cell =
      CeilDivide(caps.tokens, std::clamp(kPriceWork / rows, kLeastPriceCells, kPriceCells));
  Relaxed coarse{{}, caps.units, caps.tokens / cell};
  if (rows * coarse.token_cells > kHopelessWork) return 0;
  for (const SampleGroup& g : groups) {
    const int64_t cells = std::max<int64_t>(g.least_tokens / cell, g.units == 0 ? 1 : 0);
    coarse.groups.push_back({g.units, cells, g.count});
  }
  const StockProblem problem{.groups = coarse.groups,
                             .unit_cells = coarse.unit_cells,
                             .token_cells = coarse.token_cells,
                             .extra_cost = {},
                             .stop = stop};
  const std::vector<double> prices = SolveCuttingStock(problem).prices;
  // The finest grid that the work limit allows; 1 is exact.
  const int64_t cells = CappedProduct(caps.units + 1, caps.tokens);
  const int64_t work = CappedProduct(cells, static_cast<int64_t>(fitting.size()));
  const Relaxed relaxed =
      Relax(fitting, caps, 1,
            std::max(CeilDivide(work, kProofWork), CeilDivide(cells, kProofCells)), stop);
  std::vector<double> exact, steps;
  const double scale = static_cast<double>(caps.tokens) / static_cast<double>(relaxed.token_cells);
  for (const StockGroup& g : relaxed.groups) {
    stop.Spend(static_cast<int64_t>(2 * groups.size()));
    exact.push_back(PriceOf(groups, prices, g.units, static_cast<double>(g.tokens) * scale, false));
    steps.push_back(PriceOf(groups, prices, g.units, static_cast<double>(g.tokens) * scale, true));
  }
  return std::max(ProvenBound(relaxed, exact, stop), ProvenBound(relaxed, steps, stop));
}

int64_t Alone(const SampleTypes& types, const Caps& caps) {
  int64_t alone = 0;
  for (const SampleType& t : types) alone += caps.Hold(t.units, t.tokens) ? 0 : t.count;
  return alone;
}

// Martello and Toth's L2 in tokens; in units too, if they take the place of tokens. For each size k
// up to half the cap, samples longer than cap - k share a pack with no sample of at least k, those
// above half the cap do not share with each other, and the remaining tokens of the others need
// further packs.
int64_t ByLongSamples(const SampleTypes& types, const Caps& caps, const Stop& stop) {
  SampleTypes sorted;
  for (const SampleType& t : types)
    if (caps.Hold(t.units, t.tokens)) sorted.push_back(t);
  sorted = WithoutUnits(std::move(sorted), stop);
  const size_t n = sorted.size();
  std::vector<Wide> count(n + 1), sum(n + 1);  // over the types before each
  for (size_t i = 0; i < n; ++i) {
    count[i + 1] = count[i] + sorted[i].count;
    sum[i + 1] = sum[i] + static_cast<Wide>(sorted[i].tokens) * sorted[i].count;
  }
  const auto first_above = [&](int64_t tokens) {
    return static_cast<size_t>(
        std::upper_bound(sorted.begin(), sorted.end(), tokens,
                         [](int64_t t, const SampleType& type) { return t < type.tokens; }) -
        sorted.begin());
  };
  const size_t half = first_above(caps.tokens / 2);
  Wide best = count[n] - count[half];
  for (size_t k = 0; k < half; ++k) {
    stop.Spend(100);
    const size_t lonely = first_above(caps.tokens - sorted[k].tokens);
    const Wide long_ones = count[n] - count[half];
    const Wide room = (count[lonely] - count[half]) * caps.tokens - (sum[lonely] - sum[half]);
    const Wide rest = sum[half] - sum[k] - room;
    if (rest > 0) best = std::max(best, long_ones + (rest + caps.tokens - 1) / caps.tokens);
  }
  return static_cast<int64_t>(best);
}

// Returns the samples that fit alone, with their units in the place of tokens.
SampleTypes UnitsAsTokens(const SampleTypes& types, const Caps& caps) {
  SampleTypes units;
  for (const SampleType& t : types)
    if (caps.Hold(t.units, t.tokens) && t.units > 0) units.push_back({0, t.units, t.count});
  return units;
}

}  // namespace

PackBound CheapLowerBound(const SampleTypes& types, const Caps& caps, const Stop& stop) {
  stop.Spend(static_cast<int64_t>(100 * types.size()));
  Wide units = 0, tokens = 0;
  for (const SampleType& t : types) {
    if (!caps.Hold(t.units, t.tokens)) continue;
    units += static_cast<Wide>(t.units) * t.count;
    tokens += static_cast<Wide>(t.tokens) * t.count;
  }
  PackBound bound{static_cast<int64_t>((tokens + caps.tokens - 1) / caps.tokens), "volume"};
  if (units > 0) {
    bound.packs =
        std::max(bound.packs, static_cast<int64_t>((units + caps.units - 1) / caps.units));
    const int64_t packs = ByUnits(types, caps, stop);
    if (packs > bound.packs) bound = {packs, "column generation over units"};
  }
  if (const int64_t packs = ByLongSamples(types, caps, stop); packs > bound.packs)
    bound = {packs, "long samples"};
  if (units > 0) {
    const int64_t packs = ByLongSamples(UnitsAsTokens(types, caps), {0, caps.units}, stop);
    if (packs > bound.packs) bound = {packs, "samples of many units"};
  }
  bound.packs += Alone(types, caps);
  return bound;
}

PackBound LowerBound(const SampleTypes& types, const Caps& caps, int64_t reached,
                     const Stop& stop) {
  PackBound bound = CheapLowerBound(types, caps, stop);
  const int64_t alone = Alone(types, caps);
  if (reached > 0 && reached - bound.packs <= (bound.packs - alone) / kCloseParts) return bound;
  const int64_t packs = ByUnitsAndTokens(types, caps, stop) + alone;
  if (packs > bound.packs) bound = {packs, "column generation over units and tokens"};
  return bound;
}

}  // namespace evenkeel::planner
