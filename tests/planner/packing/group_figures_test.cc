#include "planner/packing/group_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/base/random.h"
#include "planner/packing/pack_dataset.h"

namespace evenkeel::planner {
namespace {

// Samples of unequal length with unequal numbers of loss tokens, in two groups, and a last step
// that lacks packs.
struct FiguresCase {
  std::vector<int32_t> units, tokens, loss;
  PackingJob job;
  PackingResult result;

  FiguresCase() {
    Random random(5);
    for (int i = 0; i < 301; ++i) {
      tokens.push_back(1 + static_cast<int32_t>(random.Below(i % 20 == 0 ? 1000 : 120)));
      loss.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(tokens.back()) + 1)));
    }
    units.resize(tokens.size());
    job.groups = {{128, {kNoUnitCap, 128}, 1, 8, 2}, {1000, {kNoUnitCap, 1000}, 4, 2, 1}};
    job.loss_tokens = loss;
    result = PackAndDeal({units, tokens}, job);
  }
};

// Computes, from the returned order only, the weight that one unit of loss of each token has in the
// mean of the gradients over all data and context ranks.
TEST(GroupFiguresTest, EveryTokenOfAStepWeighsTheSameOnEveryRank) {
  const FiguresCase c;
  const GroupFigures& figures = c.result.groups;
  ASSERT_GT(figures.of[1].packs, 0);
  ASSERT_TRUE(std::count(c.result.order.begin(), c.result.order.end(), -1) > 0);
  auto slot = c.result.order.begin();
  for (size_t step = 0; step < figures.step_group.size(); ++step) {
    const LengthGroup& group = figures.of[static_cast<size_t>(figures.step_group[step])].group;
    const double normalizer = figures.loss_normalizers[step];
    const double gpus = static_cast<double>(group.ranks * group.context);
    double sum = 0, least = 1e300, most = 0;
    for (int64_t rank = 0; rank < group.ranks; ++rank) {
      for (int64_t k = 0; k < group.packs_per_rank; ++k, ++slot) {
        if (*slot < 0) continue;
        int64_t place = 0;  // place of a loss token in the pack; context ranks take them in turn
        for (const uint32_t i : c.result.packing[static_cast<size_t>(*slot)]) {
          for (int32_t t = 0; t < c.loss[i]; ++t, ++place) {
            // On the GPU that has the token, the loss is divided by packs_per_rank x T_ave and
            // multiplied by `context`, because the mean over GPUs includes those of the rank that
            // have other tokens.
            const double weight = static_cast<double>(group.context) /
                                  (static_cast<double>(group.packs_per_rank) * normalizer) / gpus;
            sum += weight;
            least = std::min(least, weight);
            most = std::max(most, weight);
          }
        }
      }
    }
    EXPECT_NEAR(sum, 1, 1e-9) << step;
    EXPECT_EQ(least, most) << step;
  }
  EXPECT_EQ(slot, c.result.order.end());
}

// A model has one weight, and each token has its own loss. The gradients of all ranks together give
// the mean over the tokens of the step.
TEST(GroupFiguresTest, TheMeanOverRanksIsTheMeanOverTokens) {
  const FiguresCase c;
  const GroupFigures& figures = c.result.groups;
  const auto loss_of = [](uint32_t sample, int32_t token) {
    return std::sin(static_cast<double>(sample * 131 + static_cast<uint32_t>(token)));
  };
  auto slot = c.result.order.begin();
  for (size_t step = 0; step < figures.step_group.size(); ++step) {
    const LengthGroup& group = figures.of[static_cast<size_t>(figures.step_group[step])].group;
    double over_ranks = 0, over_tokens = 0, tokens = 0;
    for (int64_t rank = 0; rank < group.ranks; ++rank) {
      std::vector<double> gpu(static_cast<size_t>(group.context));
      for (int64_t k = 0; k < group.packs_per_rank; ++k, ++slot) {
        if (*slot < 0) continue;
        size_t place = 0;
        for (const uint32_t i : c.result.packing[static_cast<size_t>(*slot)])
          for (int32_t t = 0; t < c.loss[i]; ++t, ++place, ++tokens)
            gpu[place % gpu.size()] += loss_of(i, t), over_tokens += loss_of(i, t);
      }
      for (const double sum : gpu)
        over_ranks += static_cast<double>(group.context) * sum /
                      (static_cast<double>(group.packs_per_rank) * figures.loss_normalizers[step]) /
                      static_cast<double>(group.ranks * group.context);
    }
    EXPECT_NEAR(over_ranks, over_tokens / tokens, 1e-12);
  }
}

TEST(GroupFiguresTest, SharesAndMeans) {
  const std::vector<int32_t> units(12), tokens = {100, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
  PackingJob job;
  job.groups = {{10, {kNoUnitCap, 10}, 1, 4, 1}, {100, {kNoUnitCap, 100}, 4, 1, 1}};
  const PackingResult result = PackAndDeal({units, tokens}, job);
  const GroupFigures& figures = result.groups;
  EXPECT_EQ(figures.of[0].packs, 11);
  EXPECT_EQ(figures.of[0].samples, 11);
  EXPECT_EQ(figures.of[1].packs, 1);
  EXPECT_DOUBLE_EQ(figures.communication_ratio, 4.0 / 15);
  EXPECT_DOUBLE_EQ(figures.of[1].share, 4.0 / 15);
  EXPECT_DOUBLE_EQ(figures.of[0].mean_tokens, 10);
  EXPECT_EQ(result.balance.steps, 4);
  EXPECT_EQ(result.balance.holed_steps, 1);
  EXPECT_DOUBLE_EQ(result.balance.mean_rank_tokens, (10 + 10 + 100) / 3.0);
  EXPECT_DOUBLE_EQ(result.token_fill, 1);
}

TEST(GroupFiguresTest, AStepWithoutLossTokensHasANormalizerOfZero) {
  const std::vector<int32_t> units(2), tokens = {10, 10}, loss = {0, 0};
  PackingJob job;
  job.groups = {{10, {kNoUnitCap, 10}, 1, 2, 1}};
  job.loss_tokens = loss;
  EXPECT_EQ(PackAndDeal({units, tokens}, job).groups.loss_normalizers, std::vector<double>{0});
}

}  // namespace
}  // namespace evenkeel::planner
