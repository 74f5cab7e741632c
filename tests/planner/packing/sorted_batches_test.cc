#include "planner/packing/sorted_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/padded_batches.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

Job SortedJob(std::vector<LengthBin> bins, int64_t samples, const char* trainer = "deepspeed") {
  Job job = TrainedBy(TextJob("qwen2-1.5b", "a100-sxm-80gb", 8), trainer);
  job.dataset = {};
  job.dataset.bins = std::move(bins);
  job.training.micro_batch_samples = samples;
  job.training.group_by_length = true;
  job.training.global_batch_samples = 256;
  return job;
}

const std::vector<LengthBin> kSpreadLengths = {
    {0, 100, 5000}, {0, 300, 3000}, {0, 800, 1500}, {0, 2000, 400}, {0, 6000, 100}};

TEST(SortedBatchesTest, SortsFiftyOrAQuarterOfTheDataset) {
  EXPECT_EQ(SortedTogether(SortedJob(kSpreadLengths, 32)), 50);
  EXPECT_EQ(SortedTogether(SortedJob(kSpreadLengths, 4)),
            400);  // 8 ranks accumulate 8 for 256 samples
  Job few = SortedJob({{0, 10, 41}}, 2);
  few.training.global_batch_samples = 16;
  EXPECT_EQ(SortedTogether(few), 5);
  Job tiny = SortedJob({{0, 10, 5}}, 4);
  tiny.training.global_batch_samples = 32;
  EXPECT_EQ(SortedTogether(tiny), 1);
  Job random = SortedJob(kSpreadLengths, 4);
  random.training.group_by_length = false;
  EXPECT_EQ(SortedTogether(random), 0);
}

double SlowestOfAll(const std::vector<double>& ascending, int64_t sorted, int64_t steps,
                    int64_t data, int64_t micro_batches) {
  const std::vector<double> places = SortedPlaces(sorted, steps, data, micro_batches);
  double slowest = 0, all = 0;
  for (size_t at = 0; at < places.size();) {
    double most = 0;
    for (int64_t rank = 0; rank < data; ++rank) {
      double work = 0;
      for (int64_t k = 0; k < micro_batches; ++k, ++at) {
        const auto i =
            static_cast<size_t>((1 - places[at]) * static_cast<double>(ascending.size()));
        work += ascending[std::min(i, ascending.size() - 1)];
      }
      most = std::max(most, work), all += work;
    }
    slowest += most;
  }
  return slowest * static_cast<double>(data) / all;
}

// Steps of up to 2^20 micro-batches as they are, longer ones within the stated error.
TEST(SortedBatchesTest, SlowestRankOfAllPlaces) {
  Random random(3);
  std::vector<double> ascending(499);  // so that no place is on a bound
  for (double& work : ascending) work = static_cast<double>(1 + random.Below(4000));
  std::sort(ascending.begin(), ascending.end());
  double mean = 0;
  for (const double work : ascending) mean += work / static_cast<double>(ascending.size());
  for (const auto& [sorted, steps, data, micro] : {std::tuple{50, 16, 8, 1},
                                                   {400, 16, 8, 8},
                                                   {7, 16, 64, 3},
                                                   {50, 16, 131072, 1},
                                                   {3200, 8, 2048, 64},
                                                   {50 * 16384, 8, 8, 16384}}) {
    const double exact = SlowestOfAll(ascending, sorted, steps, data, micro);
    EXPECT_GT(exact, 1);
    EXPECT_NEAR(SlowestOfSorted(ascending, sorted, data, micro), exact, 1e-9)
        << data << " x " << micro;
  }
  for (const auto& [sorted, data, micro] : {std::tuple{25600, 8192, 512}, {3276800, 64, 65536}}) {
    const double m = std::min(micro, 1 << 14);
    EXPECT_NEAR(SlowestOfSorted(ascending, sorted, data, micro),
                SlowestOfAll(ascending, sorted, 1, data, micro),
                (std::log2(m) + 2) / m * ascending.back() / mean)
        << data << " x " << micro;
  }
  // As the batch rule asks for it.
  Job job = SortedJob(kSpreadLengths, 1);
  job.training.global_batch_samples = 1 << 17;
  const Batching b = MakeBatching(job);
  EXPECT_GT(SlowestRankRatio(job, b.packs, b.rule.pack_times, 8, 1 << 14), 1);
}

// Five samples (four of 100 tokens, one of 1) make one whole micro-batch of four, and a quarter of
// another. A row is no shorter than its samples.
TEST(SortedBatchesTest, SmallDatasetsHaveFewerMicroBatches) {
  EXPECT_NEAR(ShareWithout(4, 5, 4, 256), 0.2, 1e-12);
  EXPECT_NEAR(ShareWithout(500, 1000, 4, 256), 0.5, 1e-12);
}

// All sets of samples that can be sorted together, and all micro-batches of each.
TEST(SortedBatchesTest, SharesAreThoseOfAllSets) {
  for (const auto& [all, size, sorted] : {std::tuple{8, 2, 2}, {9, 1, 4}, {10, 3, 2}, {7, 2, 3}}) {
    for (int longer = 0; longer <= all; ++longer) {
      std::vector<bool> drawn(static_cast<size_t>(all));
      std::fill(drawn.begin(), drawn.begin() + size * sorted, true);
      double without = 0, sets = 0;
      do {
        int x = 0;  // the first `longer` samples are longer
        for (int i = 0; i < longer; ++i) x += drawn[static_cast<size_t>(i)] ? 1 : 0;
        for (int k = 0; k < sorted; ++k) without += x <= k * size ? 1 : 0;
        sets += 1;
      } while (std::prev_permutation(drawn.begin(), drawn.end()));
      EXPECT_NEAR(ShareWithout(longer, all, size, sorted), without / sets / sorted, 1e-12)
          << all << " " << size << " " << sorted << " " << longer;
    }
  }
}

// The loader itself, run.
TEST(SortedBatchesTest, RowsAreThoseOfTheLoader) {
  const Job job = SortedJob(kSpreadLengths, 4);
  std::vector<int64_t> lengths;
  for (const LengthBin& bin : job.dataset.bins)
    lengths.insert(lengths.end(), static_cast<size_t>(bin.count), bin.llm_tokens);
  Random random(3);
  double sum = 0, batches = 0;
  for (int epoch = 0; epoch < 40; ++epoch) {
    random.Shuffle(lengths);
    std::vector<int64_t> sorted = lengths;
    for (size_t begin = 0; begin + 200 <= sorted.size(); begin += 200)
      std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                sorted.begin() + static_cast<std::ptrdiff_t>(begin) + 200, std::greater<>());
    for (size_t at = 0; at + 4 <= sorted.size(); at += 4, ++batches)
      sum += static_cast<double>(sorted[at]);
  }
  double mean = 0, all = 0;
  for (const RowLength& row : RowLengthsOf(job.dataset, job.training, 50)) {
    mean += row.share * D(row.tokens);
    all += row.share;
  }
  EXPECT_NEAR(all, 1, 1e-12);
  EXPECT_NEAR(mean, sum / batches, 0.005 * mean);
}

TEST(SortedBatchesTest, PlacesCoverTheDistributionForEveryRank) {
  for (const int64_t data : {1, 8, 64}) {
    const std::vector<double> places = SortedPlaces(50, 16, data, 4);
    ASSERT_EQ(places.size(), static_cast<size_t>(16 * data * 4));
    std::vector<double> of_rank(static_cast<size_t>(data));
    for (size_t i = 0; i < places.size(); ++i) {
      ASSERT_GE(places[i], 0);
      ASSERT_LT(places[i], 1);
      of_rank[i / 4 % of_rank.size()] += places[i] / 64;
    }
    for (const double mean : of_rank) EXPECT_NEAR(mean, 0.5, 0.02);
  }
}

// Sorting pads less than drawing at random, and more than packs, which pad nothing.
TEST(SortedBatchesTest, PadsLessAndIsQuicker) {
  Job job = SortedJob(kSpreadLengths, 8);
  const Plan sorted = CheckedPlan(job);
  job.training.group_by_length = false;
  const Plan random = CheckedPlan(job);
  ASSERT_TRUE(sorted.fits() && random.fits());
  EXPECT_LT(sorted.batch_rule.pad_ratio, 0.2);
  EXPECT_GT(random.batch_rule.pad_ratio, 0.5);
  EXPECT_LT(sorted.prediction.gpu_days, 0.6 * random.prediction.gpu_days);
  EXPECT_EQ(sorted.batch_rule.token_cap, random.batch_rule.token_cap);
  ASSERT_TRUE(sorted.padded->packed && random.padded->packed);
  EXPECT_EQ(sorted.padded->packed->gpu_days, random.padded->packed->gpu_days);
  EXPECT_LT(sorted.padded->packing_gain, random.padded->packing_gain);
}

}  // namespace
}  // namespace evenkeel::planner
