// The linear relaxation of cutting stock by column generation (Gilmore, Gomory 1961): which
// patterns of sample groups, and how often, cover all demands with the fewest packs.
#ifndef EVENKEEL_PLANNER_PACKING_CUTTING_STOCK_H_
#define EVENKEEL_PLANNER_PACKING_CUTTING_STOCK_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "planner/base/stop.h"

namespace evenkeel::planner {

// Samples taken for alike. Sizes are in cells of a grid, as are the capacities.
struct StockGroup {
  int64_t units = 0;
  int64_t tokens = 0;
  int64_t demand = 0;
};

struct StockProblem {
  std::vector<StockGroup> groups;  // each with a size in some dimension, and fitting alone
  int64_t unit_cells = 0;          // capacity
  int64_t token_cells = 0;
  // Extra cost of a pack that fills so many unit and token cells, small against 1. Empty: 0.
  std::function<double(int64_t units, int64_t tokens)> extra_cost;
  int64_t iterations_at_most = 2000;
  Stop stop = {};
};

struct Pattern {
  std::vector<std::pair<int32_t, int32_t>> content;  // (group, how many), groups ascending
  double times = 0;
};

struct StockSolution {
  std::vector<Pattern> patterns;  // times > 0
  std::vector<double> prices;     // dual value of one sample of each group
  double packs = 0;               // sum of times
  bool optimal = false;           // else the iterations ran out
  int64_t work = 0;               // cells of the grid that were filled in, for budgets
};

StockSolution SolveCuttingStock(const StockProblem& problem);

// Greatest total price of a pattern, integer prices: exact, by dynamic programming.
int64_t BestPatternPrice(const std::vector<StockGroup>& groups, int64_t unit_cells,
                         int64_t token_cells, const std::vector<int64_t>& prices,
                         const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_CUTTING_STOCK_H_
