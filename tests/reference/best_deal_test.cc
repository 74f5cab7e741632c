// Dealing is a heuristic in two dimensions. This tests how far it is from the best, on cases small
// enough to try everything. The limits below are what it reaches now, rounded up.
#include "tests/reference/best_deal.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/deal.h"
#include "planner/packing/metrics.h"

namespace evenkeel::planner::reference {
namespace {

struct Means {
  double dealt = 0, best = 0;
};

// Packs of 80% to 100% of the caps, as packers leave them.
std::vector<PackWork> SomeWork(size_t packs, uint64_t seed) {
  Random random(seed);
  std::vector<PackWork> work;
  for (size_t i = 0; i < packs; ++i) {
    work.push_back({static_cast<int32_t>(8000 + random.Below(2001)),
                    static_cast<int32_t>(8000 + random.Below(2001))});
  }
  return work;
}

NaiveWork Naive(const std::vector<PackWork>& work) {
  NaiveWork naive;
  for (const PackWork& w : work) naive.emplace_back(w.vision, w.language);
  return naive;
}

double Dealt(const std::vector<PackWork>& work, const DealRule& rule) {
  const std::vector<PackSums> sums(work.size());
  const Balance b = BalanceOf(sums, work, Deal(work, rule), rule.ranks, rule.packs_per_rank);
  return b.dist_ratio_vision_time + b.dist_ratio_language_time;
}

TEST(BestDealTest, TheTwinFindsAPerfectDeal) {
  EXPECT_EQ(BestStep({{1, 4}, {2, 3}, {3, 2}, {4, 1}}, 2), 0);
  EXPECT_EQ(BestSteps({{1, 4}, {2, 3}, {1, 4}, {2, 3}}, 2), 0);
  EXPECT_DOUBLE_EQ(BestSteps({{1, 4}, {2, 4}, {1, 4}, {1, 4}}, 2), 0.125);
}

TEST(BestDealTest, RanksOfAStepAreNearlyAsEqualAsCanBe) {
  for (const auto& [ranks, slots, most_excess] :
       {std::tuple{2, 4, 0.005}, {2, 6, 0.005}, {3, 3, 0.005}, {4, 2, 0.005}, {3, 4, 0.005}}) {
    Means mean;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const auto work = SomeWork(static_cast<size_t>(ranks * slots), seed);
      const double dealt = Dealt(work, {.ranks = ranks, .packs_per_rank = slots});
      const double best = BestStep(Naive(work), static_cast<size_t>(ranks));
      ASSERT_GE(dealt, best - 1e-12);
      mean.dealt += dealt / 40, mean.best += best / 40;
    }
    EXPECT_LE(mean.dealt - mean.best, most_excess) << mean.dealt << ", best " << mean.best;
  }
}

TEST(BestDealTest, StepsOfAWindowAreNearlyAsAlikeAsCanBe) {
  for (const auto& [ranks, steps, most_excess] :
       {std::tuple{2, 5, 0.01}, {3, 3, 0.01}, {4, 3, 0.01}, {6, 2, 0.01}}) {
    Means mean;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const auto work = SomeWork(static_cast<size_t>(ranks * steps), seed);
      const double dealt = Dealt(work, {.ranks = ranks, .window = 0});
      const double best = BestSteps(Naive(work), static_cast<size_t>(ranks));
      ASSERT_GE(dealt, best - 1e-12);
      mean.dealt += dealt / 40, mean.best += best / 40;
    }
    EXPECT_LE(mean.dealt - mean.best, most_excess) << mean.dealt << ", best " << mean.best;
  }
}

}  // namespace
}  // namespace evenkeel::planner::reference
