#include "planner/packing/pack_patterns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/base/integers.h"
#include "planner/packing/cutting_stock.h"

namespace evenkeel::planner {
namespace {

// Work of one pricing: cells of the knapsack's grid times groups.
constexpr int64_t kPricingWork = 250000;
constexpr int64_t kTokenCells = 512;  // more if the smallest group needs them for kCellsOfSmallest
constexpr int64_t kCellsOfSmallest = 16;
constexpr int64_t kLeastTokenCells = 64;
constexpr int64_t kUnitWork = 1'000'000;  // work of one pricing with the fewest token cells
constexpr int64_t kSolveWork = 100'000'000;
constexpr int kDives = 6;
// Small compared with a pack, so that evenness costs at most one pack in 3000 for patterns twice as
// long as the mean.
constexpr double kUnevenness = 1e-4;

class Designer {
 public:
  Designer(const std::vector<SampleGroup>& groups, const Caps& caps, double tokens_per_pack,
           double slack, const Stop& stop, int64_t work_at_most)
      : groups_(groups), work_at_most_(work_at_most) {
    problem_.stop = stop;
    for (const SampleGroup& g : groups) left_.push_back(g.count);
    const int64_t unit_cells = kUnitWork / (static_cast<int64_t>(groups.size()) * kLeastTokenCells);
    unit_cell_ = CeilDivide(std::max<int64_t>(1, caps.units), unit_cells);
    problem_.unit_cells = caps.units / unit_cell_;
    const int64_t rows = (problem_.unit_cells + 1) * static_cast<int64_t>(groups.size());
    double least = static_cast<double>(caps.tokens);
    for (const SampleGroup& g : groups) least = std::min(least, g.mean_tokens);
    const int64_t wanted = std::max(
        kTokenCells, kCellsOfSmallest * caps.tokens / std::max<int64_t>(1, Nearest(least)));
    problem_.token_cells =
        std::min(caps.tokens, std::clamp(kPricingWork / rows, kLeastTokenCells, wanted));
    cell_ = static_cast<double>(caps.tokens) / static_cast<double>(problem_.token_cells);
    const double even = tokens_per_pack / cell_;
    problem_.token_cells = std::max<int64_t>(
        1, static_cast<int64_t>(slack * static_cast<double>(problem_.token_cells)));
    pricing_work_ = rows * (problem_.token_cells + 1);
    problem_.extra_cost = [even](int64_t, int64_t tokens) {
      const double off = std::fabs(static_cast<double>(tokens) - even) / even;
      return kUnevenness * off * (1 + 2 * off);
    };
  }

  // Each round solves for the samples left and takes the whole numbers of packs. The fractions
  // leave a few samples. They go into packs by first fit, or into packs of the most used pattern,
  // one per round, with the rest by first fit. The way that gives fewer packs is taken.
  PackDesign Run() {
    std::vector<PackPattern> by_first_fit;
    size_t whole = 0;  // patterns taken before
    bool cut_short = false;
    for (int dives = 0; Pose();) {
      cut_short = work_ >= work_at_most_;
      if (dives > kDives || cut_short) {
        Append(FirstFit());
        break;
      }
      problem_.iterations_at_most = std::min(kSolveWork, work_at_most_ - work_) / pricing_work_ + 1;
      const StockSolution solution = SolveCuttingStock(problem_);
      work_ += solution.work;
      const Pattern* most = &solution.patterns.front();
      bool any = false;
      for (const Pattern& p : solution.patterns) {
        if (p.times > most->times) most = &p;
        const int64_t times = static_cast<int64_t>(std::floor(p.times + 1e-6));
        if (times > 0) Take(p, times), any = true;
      }
      if (any) continue;
      if (dives++ == 0) by_first_fit = FirstFit(), whole = taken_.size();
      Take(*most, 1);
    }
    if (!by_first_fit.empty() && by_first_fit.size() <= taken_.size() - whole) {
      taken_.resize(whole);
      Append(by_first_fit);
    }
    PackDesign design{std::move(taken_), 0, work_, cut_short};
    for (const PackPattern& p : design.patterns) design.packs += p.times;
    return design;
  }

 private:
  bool Pose() {
    problem_.groups.clear();
    posed_.clear();
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (left_[g] == 0) continue;
      const int64_t tokens =
          std::clamp<int64_t>(Nearest(groups_[g].mean_tokens / cell_), 1, problem_.token_cells);
      // A sample must fit alone, even after rounding.
      const int64_t units = std::min(CeilDivide(groups_[g].units, unit_cell_), problem_.unit_cells);
      problem_.groups.push_back({units, tokens, left_[g]});
      posed_.push_back(static_cast<int32_t>(g));
    }
    return !posed_.empty();
  }

  // A pattern may hold more samples of a group than are left, since the linear program only covers
  // demands. Packs that lack samples hold those that are left.
  void Take(const Pattern& pattern, int64_t times) {
    while (times > 0) {
      PackPattern pack{{}, times};
      for (const auto& [posed, count] : pattern.content) {
        const int64_t left = left_[Original(posed)];
        if (left == 0) continue;
        pack.times = std::min(pack.times, std::max<int64_t>(left / count, 1));
        pack.content.push_back({posed, static_cast<int32_t>(std::min<int64_t>(count, left))});
      }
      if (pack.content.empty()) return;
      for (auto& [group, count] : pack.content) {
        group = static_cast<int32_t>(Original(group));
        left_[static_cast<size_t>(group)] -= count * pack.times;
      }
      times -= pack.times;
      taken_.push_back(std::move(pack));
    }
  }

  void Append(const std::vector<PackPattern>& packs) {
    taken_.insert(taken_.end(), packs.begin(), packs.end());
  }

  // Packs the samples left, the groups with the largest share of the capacities first.
  std::vector<PackPattern> FirstFit() const {
    std::vector<size_t> order(problem_.groups.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto share = [&](size_t g) {
      const StockGroup& group = problem_.groups[g];
      return std::max(
          static_cast<double>(group.units) /
              static_cast<double>(std::max<int64_t>(1, problem_.unit_cells)),
          static_cast<double>(group.tokens) / static_cast<double>(problem_.token_cells));
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return share(a) > share(b); });
    std::vector<PackPattern> packs;
    std::vector<std::pair<int64_t, int64_t>> room;
    for (const size_t g : order) {
      const StockGroup& group = problem_.groups[g];
      int64_t left = group.demand;
      for (size_t p = 0; left > 0; ++p) {
        if (p == packs.size()) {
          packs.push_back({{}, 1});
          room.emplace_back(problem_.unit_cells, problem_.token_cells);
        }
        problem_.stop.Spend(4);
        auto& [units, tokens] = room[p];
        int64_t held = std::min(left, tokens / group.tokens);
        if (group.units > 0) held = std::min(held, units / group.units);
        if (held == 0) continue;
        packs[p].content.push_back(
            {static_cast<int32_t>(Original(static_cast<int32_t>(g))), static_cast<int32_t>(held)});
        units -= held * group.units, tokens -= held * group.tokens, left -= held;
      }
    }
    for (PackPattern& pack : packs) std::sort(pack.content.begin(), pack.content.end());
    return packs;
  }

  size_t Original(int32_t posed) const {
    return static_cast<size_t>(posed_[static_cast<size_t>(posed)]);
  }

  const std::vector<SampleGroup>& groups_;
  std::vector<int64_t> left_;
  StockProblem problem_;
  int64_t unit_cell_ = 1;       // units are rounded up to a multiple of it
  double cell_ = 1;             // tokens are rounded to a multiple of it
  std::vector<int32_t> posed_;  // group of each row of the problem
  std::vector<PackPattern> taken_;
  const int64_t work_at_most_;
  int64_t pricing_work_ = 1;
  int64_t work_ = 0;
};

}  // namespace

PackDesign DesignPacks(const std::vector<SampleGroup>& groups, const Caps& caps,
                       double tokens_per_pack, double slack, const Stop& stop,
                       int64_t work_at_most) {
  return Designer(groups, caps, tokens_per_pack, slack, stop, work_at_most).Run();
}

}  // namespace evenkeel::planner
