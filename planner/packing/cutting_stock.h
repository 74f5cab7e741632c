// Solves the linear relaxation of cutting stock by column generation (Gilmore, Gomory 1961): finds
// which patterns of sample groups, and how many of each, cover all demands with the fewest packs.
#ifndef EVENKEEL_PLANNER_PACKING_CUTTING_STOCK_H_
#define EVENKEEL_PLANNER_PACKING_CUTTING_STOCK_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "planner/base/stop.h"

namespace evenkeel::planner {

// Samples that are treated as equal. Sizes and capacities are in cells of a grid.
struct StockGroup {
  int64_t units = 0;
  int64_t tokens = 0;
  int64_t demand = 0;
};

struct StockProblem {
  std::vector<StockGroup> groups;  // each has a size in some dimension and fits alone
  int64_t unit_cells = 0;          // capacity
  int64_t token_cells = 0;
  // Extra cost, much less than 1, of a pack that fills this number of unit and token cells. If
  // empty, the cost is 0.
  std::function<double(int64_t units, int64_t tokens)> extra_cost;
  int64_t iterations_at_most = 2000;
  Stop stop = {};
};

struct Pattern {
  std::vector<std::pair<int32_t, int32_t>> content;  // (group, samples of it), groups ascending
  double times = 0;
};

struct StockSolution {
  std::vector<Pattern> patterns;  // times > 0
  std::vector<double> prices;     // dual value of one sample of each group
  double packs = 0;               // sum of times
  bool optimal = false;           // if false, the iterations ran out
  int64_t work = 0;               // cells of the grid that were computed, for budgets
};

StockSolution SolveCuttingStock(const StockProblem& problem);

// Returns the greatest total price of a pattern for integer prices. It is exact, by dynamic
// programming.
int64_t BestPatternPrice(const std::vector<StockGroup>& groups, int64_t unit_cells,
                         int64_t token_cells, const std::vector<int64_t>& prices,
                         const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_CUTTING_STOCK_H_
