// Compares designed packs, their number and the lower bound with exhaustive search, and the linear
// program with a separate solver.
#include "planner/packing/cutting_stock.h"

#include <glpk.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planner/base/random.h"
#include "planner/packing/balanced.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/packer.h"
#include "planner/packing/sample_types.h"
#include "tests/reference/fewest_packs.h"

namespace evenkeel::reference {
namespace {

using planner::Caps;
using planner::Lengths;
using planner::Packer;
using planner::Random;
using planner::StockProblem;

struct Samples {
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
};

// Draws sizes of many kinds: tiles, text, large shares of a cap, equal ones.
Samples SmallInstance(Random& random, const Caps& caps) {
  Samples s;
  const size_t n = 1 + random.Below(9);
  const uint64_t kind = random.Below(4);
  for (size_t i = 0; i < n; ++i) {
    const int64_t most_units = kind == 1 ? 0 : caps.units;
    const int64_t least = kind == 2 ? caps.tokens / 4 : 1;
    s.units.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(most_units) + 1)));
    s.tokens.push_back(static_cast<int32_t>(
        least +
        static_cast<int64_t>(random.Below(static_cast<uint64_t>(caps.tokens - least + 1)))));
    if (kind == 3 && i > 0) s.units[i] = s.units[0], s.tokens[i] = s.tokens[0];
  }
  return s;
}

TEST(FewestPacksTest, BoundAndPackerEnclose) {
  Random random(11);
  int64_t instances = 0, tight_bounds = 0, optimal = 0;
  for (; instances < 3000; ++instances) {
    const Caps caps{static_cast<int64_t>(1 + random.Below(12)),
                    static_cast<int64_t>(4 + random.Below(60))};
    const Samples s = SmallInstance(random, caps);
    const int64_t fewest = FewestPacks(s.lengths(), caps);
    const auto types = SortByType(s.lengths()).types;
    const int64_t cheap = CheapLowerBound(types, caps).packs;
    const int64_t bound = LowerBound(types, caps).packs;
    const int64_t packs = static_cast<int64_t>(PackBalanced(s.lengths(), caps).size());
    ASSERT_LE(cheap, bound);
    ASSERT_LE(bound, fewest);
    ASSERT_GE(packs, fewest);
    for (const Packer other :
         {Packer::kIsf, Packer::kFirstFitDecreasing, Packer::kBestFitDecreasing,
          Packer::kGreedyKnapsack, Packer::kNextFit}) {
      const auto rule = planner::PackRule{
          .packer = other, .caps = caps, .keep_units = caps.units, .keep_tokens = caps.tokens};
      ASSERT_LE(packs, static_cast<int64_t>(Pack(s.lengths(), rule).size()))
          << planner::PackerName(other);
    }
    tight_bounds += bound == fewest;
    optimal += packs == fewest;
  }
  RecordProperty("tight_bounds", static_cast<int>(tight_bounds));
  RecordProperty("optimal", static_cast<int>(optimal));
  // A heuristic and a relaxation are nearly always exact on so few samples.
  EXPECT_GE(optimal, instances * 99 / 100);
  EXPECT_GE(tight_bounds, instances * 90 / 100);
}

// Enumerates all patterns of a problem, each as counts per group.
void Enumerate(const StockProblem& problem, size_t group, int64_t units, int64_t tokens,
               std::vector<int>& counts, std::vector<std::vector<int>>& all) {
  if (group == problem.groups.size()) {
    all.push_back(counts);
    return;
  }
  const auto& g = problem.groups[group];
  for (int n = 0;; ++n) {
    if (n * g.units > units || n * g.tokens > tokens) break;
    counts[group] = n;
    Enumerate(problem, group + 1, units - n * g.units, tokens - n * g.tokens, counts, all);
  }
  counts[group] = 0;
}

double SolveByLibrary(const StockProblem& problem) {
  std::vector<std::vector<int>> patterns;
  std::vector<int> counts(problem.groups.size());
  Enumerate(problem, 0, problem.unit_cells, problem.token_cells, counts, patterns);
  glp_prob* lp = glp_create_prob();
  glp_term_out(GLP_OFF);
  glp_set_obj_dir(lp, GLP_MIN);
  glp_add_rows(lp, static_cast<int>(problem.groups.size()));
  glp_add_cols(lp, static_cast<int>(patterns.size()));
  for (size_t g = 0; g < problem.groups.size(); ++g)
    glp_set_row_bnds(lp, static_cast<int>(g) + 1, GLP_LO,
                     static_cast<double>(problem.groups[g].demand), 0);
  for (size_t p = 0; p < patterns.size(); ++p) {
    const int column = static_cast<int>(p) + 1;
    int64_t units = 0, tokens = 0;
    std::vector<int> rows{0};
    std::vector<double> values{0};
    for (size_t g = 0; g < problem.groups.size(); ++g) {
      units += patterns[p][g] * problem.groups[g].units;
      tokens += patterns[p][g] * problem.groups[g].tokens;
      if (patterns[p][g] == 0) continue;
      rows.push_back(static_cast<int>(g) + 1);
      values.push_back(patterns[p][g]);
    }
    const double extra = problem.extra_cost ? problem.extra_cost(units, tokens) : 0;
    glp_set_obj_coef(lp, column, 1 + extra);
    glp_set_col_bnds(lp, column, GLP_LO, 0, 0);
    glp_set_mat_col(lp, column, static_cast<int>(rows.size()) - 1, rows.data(), values.data());
  }
  glp_smcp parameters;
  glp_init_smcp(&parameters);
  parameters.msg_lev = GLP_MSG_OFF;
  EXPECT_EQ(glp_simplex(lp, &parameters), 0);
  const double optimum = glp_get_obj_val(lp);
  glp_delete_prob(lp);
  return optimum;
}

TEST(CuttingStockTest, AgreesWithALinearProgrammingLibrary) {
  Random random(5);
  for (int i = 0; i < 1000; ++i) {
    StockProblem problem;
    problem.unit_cells = static_cast<int64_t>(random.Below(14));
    problem.token_cells = static_cast<int64_t>(10 + random.Below(30));
    const size_t groups = 1 + random.Below(5);
    for (size_t g = 0; g < groups; ++g) {
      problem.groups.push_back(
          {static_cast<int64_t>(random.Below(static_cast<uint64_t>(problem.unit_cells) + 1)),
           static_cast<int64_t>(2 + random.Below(static_cast<uint64_t>(problem.token_cells) - 1)),
           static_cast<int64_t>(1 + random.Below(1000))});
    }
    if (i % 2 == 1)
      problem.extra_cost = [](int64_t units, int64_t tokens) {
        return 1e-3 * static_cast<double>((units * 7 + tokens * 3) % 11);
      };
    const auto solution = SolveCuttingStock(problem);
    ASSERT_TRUE(solution.optimal);
    double cost = 0;
    std::vector<double> covered(groups);
    for (const auto& pattern : solution.patterns) {
      int64_t units = 0, tokens = 0;
      for (const auto& [g, count] : pattern.content) {
        covered[static_cast<size_t>(g)] += pattern.times * count;
        units += problem.groups[static_cast<size_t>(g)].units * count;
        tokens += problem.groups[static_cast<size_t>(g)].tokens * count;
      }
      ASSERT_LE(units, problem.unit_cells);
      ASSERT_LE(tokens, problem.token_cells);
      cost += pattern.times * (1 + (problem.extra_cost ? problem.extra_cost(units, tokens) : 0));
    }
    for (size_t g = 0; g < groups; ++g)
      ASSERT_GE(covered[g], static_cast<double>(problem.groups[g].demand) - 1e-6);
    const double optimum = SolveByLibrary(problem);
    ASSERT_NEAR(cost, optimum, 1e-6 * optimum) << "instance " << i;
  }
}

// No dual prices prove more than the linear program over all patterns of exact sizes.
TEST(PackBoundTest, IsNotAboveTheLinearProgram) {
  Random random(29);
  int64_t tight = 0;
  for (int i = 0; i < 500; ++i) {
    const Caps caps{static_cast<int64_t>(1 + random.Below(30)),
                    static_cast<int64_t>(8 + random.Below(60))};
    StockProblem problem;
    problem.unit_cells = caps.units;
    problem.token_cells = caps.tokens;
    planner::SampleTypes types;
    for (int32_t units = 0; types.size() < 5 && units <= caps.units; ++units) {
      if (random.Below(2) == 0) continue;
      const auto tokens = static_cast<int32_t>(
          caps.tokens / 8 + 1 +
          static_cast<int64_t>(random.Below(static_cast<uint64_t>(caps.tokens - caps.tokens / 8))));
      types.push_back({units, tokens, static_cast<int64_t>(1 + random.Below(300))});
      problem.groups.push_back({units, tokens, types.back().count});
    }
    if (types.empty()) continue;
    const double optimum = SolveByLibrary(problem);
    const int64_t bound = LowerBound(types, caps).packs;
    ASSERT_LE(bound, static_cast<int64_t>(std::ceil(optimum - 1e-6))) << "instance " << i;
    tight += bound == static_cast<int64_t>(std::ceil(optimum - 1e-6));
  }
  EXPECT_GE(tight, 450);
}

}  // namespace
}  // namespace evenkeel::reference
