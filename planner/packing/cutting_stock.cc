#include "planner/packing/cutting_stock.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace evenkeel::planner {
namespace {

constexpr double kReducedCostTolerance = 1e-9;
constexpr double kPivotTolerance = 1e-9;

// Raises each value to the value `step` before it plus one more sample of this price, if that is
// larger. Cells [begin, end) of a grid's row.
template <typename Value>
void AddSamples(Value* values, size_t begin, size_t end, size_t step, Value price) {
  // A block of `step` cells reads only cells before it, so it can be computed all at once.
  for (size_t block = begin; block < end; block += step) {
    const size_t size = std::min(step, end - block);
    Value* __restrict to = values + block;
    const Value* __restrict from = to - step;
    size_t i = 0;
    // The inner loop has a fixed length, so the compiler vectorises it.
    for (; i + 4 <= size; i += 4)
      for (size_t k = i; k < i + 4; ++k) to[k] = std::max(to[k], from[k] + price);
    for (; i < size; ++i) to[i] = std::max(to[i], from[i] + price);
  }
}

// Unbounded knapsack over a grid of (units, tokens).
class Knapsack {
 public:
  explicit Knapsack(const StockProblem& problem)
      : problem_(problem),
        width_(static_cast<size_t>(problem.token_cells) + 1),
        value_(width_ * (static_cast<size_t>(problem.unit_cells) + 1)) {}

  // Returns the pattern of least reduced cost 1 + extra - prices, and that cost.
  std::pair<Pattern, double> Cheapest(const std::vector<double>& prices) {
    Fill(prices);
    work_ += static_cast<int64_t>(value_.size() * prices.size());
    problem_.stop.Spend(static_cast<int64_t>(8 * value_.size()));
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t cell = 1; cell < value_.size(); ++cell) {
      double cost = 1 - value_[cell];
      if (cost >= least) continue;  // extra costs are not negative
      if (problem_.extra_cost)
        cost += problem_.extra_cost(static_cast<int64_t>(cell / width_),
                                    static_cast<int64_t>(cell % width_));
      if (cost < least) least = cost, best = cell;
    }
    return {Trace(best, prices), least};
  }

  int64_t work() const { return work_; }

 private:
  size_t StepOf(const StockGroup& g) const {
    return static_cast<size_t>(g.units) * width_ + static_cast<size_t>(g.tokens);
  }

  // A worthless sample may still move a pack to a cell with less extra cost.
  bool Counts(double price) const { return price > 0 || (price == 0 && problem_.extra_cost); }

  // Fills value_ with the best price of a pattern that fills exactly the cell's units and tokens,
  // or minus infinity if there is none.
  void Fill(const std::vector<double>& prices) {
    std::fill(value_.begin(), value_.end(), -std::numeric_limits<double>::infinity());
    value_[0] = 0;
    for (size_t g = 0; g < prices.size(); ++g) {
      const StockGroup& group = problem_.groups[g];
      if (!Counts(prices[g])) continue;
      for (int64_t u = group.units; u <= problem_.unit_cells; ++u) {
        problem_.stop.Spend(static_cast<int64_t>(2 * width_));
        const size_t row = static_cast<size_t>(u) * width_;
        AddSamples(value_.data(), row + static_cast<size_t>(group.tokens), row + width_,
                   StepOf(group), prices[g]);
      }
    }
  }

  // Returns a group of a best pattern that fills this cell.
  size_t LastOf(size_t cell, const std::vector<double>& prices) const {
    const size_t units = cell / width_, tokens = cell % width_;
    size_t last = 0;
    double best = -std::numeric_limits<double>::infinity();
    for (size_t g = 0; g < prices.size(); ++g) {
      const StockGroup& group = problem_.groups[g];
      if (!Counts(prices[g]) || static_cast<size_t>(group.units) > units ||
          static_cast<size_t>(group.tokens) > tokens)
        continue;
      const double value = value_[cell - StepOf(group)] + prices[g];
      if (value > best) best = value, last = g;
    }
    return last;
  }

  Pattern Trace(size_t cell, const std::vector<double>& prices) const {
    std::vector<int32_t> times(problem_.groups.size());
    while (cell != 0) {
      const size_t g = LastOf(cell, prices);
      ++times[g];
      cell -= StepOf(problem_.groups[g]);
    }
    Pattern pattern;
    for (size_t g = 0; g < times.size(); ++g)
      if (times[g] > 0) pattern.content.push_back({static_cast<int32_t>(g), times[g]});
    return pattern;
  }

  const StockProblem& problem_;
  size_t width_;
  std::vector<double> value_;
  int64_t work_ = 0;
};

// Revised simplex with an explicit inverse. The rows are groups; the columns are patterns, and a
// surplus for each row (a pattern with the single entry -1 and no cost).
class Master {
 public:
  explicit Master(const StockProblem& problem)
      : problem_(problem), rows_(problem.groups.size()), knapsack_(problem) {
    inverse_.assign(rows_ * rows_, 0);
    prices_.resize(rows_);
    for (size_t g = 0; g < rows_; ++g) {
      const StockGroup& group = problem.groups[g];
      int64_t most = std::numeric_limits<int32_t>::max();
      if (group.units > 0) most = std::min(most, problem.unit_cells / group.units);
      if (group.tokens > 0) most = std::min(most, problem.token_cells / group.tokens);
      const double times = static_cast<double>(group.demand) / static_cast<double>(most);
      basis_.push_back({{{static_cast<int32_t>(g), static_cast<int32_t>(most)}}, times});
      inverse_[g * rows_ + g] = 1 / static_cast<double>(most);
      prices_[g] = CostOf(basis_[g]) / static_cast<double>(most);
    }
  }

  StockSolution Solve() {
    StockSolution solution;
    for (int64_t i = 0; i < problem_.iterations_at_most; ++i) {
      auto [entering, cost] = NextColumn();
      if (cost >= -kReducedCostTolerance) {
        solution.optimal = true;
        break;
      }
      if (!Pivot(std::move(entering), cost)) break;
    }
    solution.prices = prices_;
    solution.work = knapsack_.work();
    for (const Pattern& p : basis_) {
      if (IsSurplus(p) || p.times <= 0) continue;
      solution.patterns.push_back(p);
      solution.packs += p.times;
    }
    return solution;
  }

 private:
  static bool IsSurplus(const Pattern& p) { return p.content.front().second < 0; }

  double CostOf(const Pattern& p) const {
    if (!problem_.extra_cost) return 1;
    int64_t units = 0, tokens = 0;
    for (const auto& [g, times] : p.content) {
      units += problem_.groups[static_cast<size_t>(g)].units * times;
      tokens += problem_.groups[static_cast<size_t>(g)].tokens * times;
    }
    return 1 + problem_.extra_cost(units, tokens);
  }

  std::pair<Pattern, double> NextColumn() {
    const auto lowest = std::min_element(prices_.begin(), prices_.end());
    if (*lowest < -kReducedCostTolerance)
      return {{{{static_cast<int32_t>(lowest - prices_.begin()), -1}}, 0}, *lowest};
    return knapsack_.Cheapest(prices_);
  }

  // Brings a column into the basis. Returns false if numbers have become too small to go on.
  bool Pivot(Pattern entering, double reduced_cost) {
    problem_.stop.Spend(static_cast<int64_t>(rows_ * rows_));
    std::vector<double> direction(rows_);
    for (size_t r = 0; r < rows_; ++r) {
      double sum = 0;
      for (const auto& [g, times] : entering.content)
        sum += inverse_[r * rows_ + static_cast<size_t>(g)] * times;
      direction[r] = sum;
    }
    size_t leaving = rows_;
    double step = std::numeric_limits<double>::infinity();
    for (size_t r = 0; r < rows_; ++r) {
      if (direction[r] <= kPivotTolerance) continue;
      const double ratio = std::max(basis_[r].times, 0.0) / direction[r];
      if (ratio < step) step = ratio, leaving = r;
    }
    if (leaving == rows_) return false;
    double* row = &inverse_[leaving * rows_];
    for (size_t k = 0; k < rows_; ++k) row[k] /= direction[leaving];
    for (size_t r = 0; r < rows_; ++r) {
      if (r == leaving || direction[r] == 0) continue;
      basis_[r].times -= step * direction[r];
      double* other = &inverse_[r * rows_];
      for (size_t k = 0; k < rows_; ++k) other[k] -= direction[r] * row[k];
    }
    for (size_t k = 0; k < rows_; ++k) prices_[k] += reduced_cost * row[k];
    entering.times = step;
    basis_[leaving] = std::move(entering);
    return true;
  }

  const StockProblem& problem_;
  size_t rows_;
  Knapsack knapsack_;
  std::vector<Pattern> basis_;
  std::vector<double> inverse_;
  std::vector<double> prices_;
};

}  // namespace

StockSolution SolveCuttingStock(const StockProblem& problem) { return Master(problem).Solve(); }

int64_t BestPatternPrice(const std::vector<StockGroup>& groups, int64_t unit_cells,
                         int64_t token_cells, const std::vector<int64_t>& prices,
                         const Stop& stop) {
  const size_t width = static_cast<size_t>(token_cells) + 1;
  std::vector<int64_t> value(width * (static_cast<size_t>(unit_cells) + 1));
  for (size_t g = 0; g < groups.size(); ++g) {
    const StockGroup& group = groups[g];
    const size_t step =
        static_cast<size_t>(group.units) * width + static_cast<size_t>(group.tokens);
    for (int64_t u = group.units; u <= unit_cells; ++u) {
      stop.Spend(static_cast<int64_t>(2 * width));
      const size_t row = static_cast<size_t>(u) * width;
      AddSamples(value.data(), row + static_cast<size_t>(group.tokens), row + width, step,
                 prices[g]);
    }
  }
  return value.back();
}

}  // namespace evenkeel::planner
