#include "planner/cost/encoder_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/base/random.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"
#include "planner/simulate/stage_sync.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

PackShape Units(double units) { return {.units = units, .tokens = 4096, .squared = 4096.0 * 4096}; }

Encoder Native() {
  Encoder e;
  e.native_resolution = true;
  return e;
}

// Deals the largest image first, each to the rank with the fewest units, and returns the fullest's.
double DealtUnits(std::vector<int64_t> images, int64_t ranks) {
  std::sort(images.rbegin(), images.rend());
  std::vector<double> loads(static_cast<size_t>(ranks));
  for (const int64_t image : images)
    *std::min_element(loads.begin(), loads.end()) += static_cast<double>(image);
  return *std::max_element(loads.begin(), loads.end());
}

TEST(EncoderShareTest, TilesAreRoundedUpToWholeOnes) {
  const Encoder tiles;
  // Packs of 15 to 21 tiles, over a multiple of 7 ranks.
  double sum = 0;
  for (int64_t units = 15; units <= 21; ++units)
    sum += std::ceil(static_cast<double>(units) / 7) / 18;
  const EncoderShare share = EncoderShareOf({}, tiles, 0, 7, Units(18), Units(21));
  EXPECT_NEAR(share.mean, sum / 7, 1e-12);
  EXPECT_GE(share.largest, 3.0 / 21);
  EXPECT_EQ(EncoderShareOf({}, tiles, 0, 8, Units(1), Units(1)).mean, 1);
  EXPECT_EQ(EncoderShareOf({}, tiles, 0, 8, Units(1), Units(1)).largest, 1);
  EXPECT_EQ(EncoderShareOf({}, tiles, 0, 1, Units(9), Units(9)).mean, 1);
}

TEST(EncoderShareTest, FewImagesLoadRanksUnevenly) {
  // Equal images of 256 units.
  const Dataset equal{.bins = {{256, 400, 10}}};
  const auto mean = [&](double images, int64_t ranks) {
    return EncoderShareOf(equal, Native(), 0, ranks, Units(256 * images), Units(256 * images)).mean;
  };
  EXPECT_DOUBLE_EQ(mean(8, 8), 1.0 / 8);
  EXPECT_DOUBLE_EQ(mean(9, 8), 2.0 / 9);
  EXPECT_DOUBLE_EQ(mean(4, 8), 1.0 / 4);
  EXPECT_NEAR(mean(1000, 8), 1.0 / 8, 1e-3);
  // One image in ten is a hundred times as large.
  const Dataset mixed{.bins = {{10, 20, 9}, {1000, 1200, 1}}};
  const EncoderShare few = EncoderShareOf(mixed, Native(), 0, 8, Units(1090), Units(1090));
  EXPECT_NEAR(few.mean, 1000.0 / 1090, 0.02);
  EXPECT_NEAR(few.largest, 1000.0 / 1090, 0.02);
  const EncoderShare many = EncoderShareOf(mixed, Native(), 0, 8, Units(109'000), Units(109'000));
  EXPECT_LT(many.mean, 0.13);
  EXPECT_LT(many.largest, 0.134);
}

TEST(EncoderShareTest, NoPackLoadsARankMoreThanTheLargestShare) {
  Random random(7);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random.Below(n)); };
  for (int trial = 0; trial < 3000; ++trial) {
    const int64_t ranks = 2 + below(15), most = 1 + below(400);
    Dataset dataset;
    std::vector<int64_t> images;
    double units = 0;
    for (int64_t i = 0; i < 1 + below(30); ++i) {
      images.push_back(1 + below(static_cast<uint64_t>(most)));
      units += static_cast<double>(images.back());
      dataset.bins.push_back({images.back(), images.back() + 1, 1});
    }
    const EncoderShare share =
        EncoderShareOf(dataset, Native(), 0, ranks, Units(units), Units(units));
    EXPECT_LE(DealtUnits(images, ranks), share.largest * units * (1 + 1e-9)) << trial;
    EXPECT_GE(share.mean, 1.0 / static_cast<double>(ranks) - 1e-12);
    EXPECT_LE(share.mean, 1);
    // The mean pack has all images: sizes are rounded to a sixteenth.
    EXPECT_NEAR(share.mean * units / DealtUnits(images, ranks), 1, 0.1) << trial;
  }
}

Job SharedEncoder(int64_t gpus = 8) {
  Job job = VisionJob("internvit-6b-448px-v1.5", "llama3-8b", "h100-sxm-80gb", gpus);
  job.constraints.encoder_data = {};
  return job;
}

const LayerCost& EncoderLayer(const LayerProfile& profile) { return profile.at(1); }
const LayerCost& ProjectorOf(const Job& job, const LayerProfile& profile) {
  return profile.at(1 + job.model.towers[0].encoder.layers);
}

TEST(EncoderShareTest, ARankEncodesItsShareWithoutTensorCollectives) {
  const Job job = SharedEncoder();
  const PackShape pack = Units(64);
  const Parallelism split{.tensor = 8}, whole{.tensor = 8, .encoder_data = 8}, one{};
  const LayerProfile a = BuildLayerProfile(job, split, pack, pack);
  const LayerProfile b = BuildLayerProfile(job, whole, pack, pack);
  const LayerProfile alone = BuildLayerProfile(job, one, pack, pack);
  EXPECT_GT(EncoderLayer(a).forward_communication.at(pack), 0);
  EXPECT_EQ(EncoderLayer(b).forward_communication.at(pack), 0);
  // 64 tiles over 8 ranks: 8 each, plus what rounding adds to the mean.
  const double share =
      EncoderShareOf(job.dataset, job.model.towers[0].encoder, 0, 8, pack, pack).mean;
  EXPECT_NEAR(EncoderLayer(b).forward.at(pack) / EncoderLayer(alone).forward.at(pack), share, 0.03);
  EXPECT_LT(EncoderLayer(b).forward_ns, EncoderLayer(a).forward_ns);
  EXPECT_EQ(EncoderLayer(b).forward_flops.at(pack), EncoderLayer(a).forward_flops.at(pack));
  // Weights are whole, and states are shared by eight ranks.
  EXPECT_EQ(EncoderLayer(b).parameters, EncoderLayer(alone).parameters);
  EXPECT_EQ(EncoderLayer(b).weight_bytes, EncoderLayer(alone).weight_bytes);
  EXPECT_NEAR(static_cast<double>(EncoderLayer(b).optimizer_bytes) * 8,
              static_cast<double>(EncoderLayer(alone).optimizer_bytes), 8);
  EXPECT_LT(EncoderLayer(b).modes.front().kept_bytes,
            EncoderLayer(alone).modes.front().kept_bytes / 6);
  // After the projector, all ranks have all embeddings.
  EXPECT_GT(ProjectorOf(job, b).forward_communication.at(pack), 0);
  EXPECT_EQ(ProjectorOf(job, b).output_bytes, ProjectorOf(job, a).output_bytes);
  // The language model is as before.
  EXPECT_EQ(a.at(a.size() - 2).forward_ns, b.at(b.size() - 2).forward_ns);
  EXPECT_EQ(a.at(a.size() - 2).modes.front().kept_bytes,
            b.at(b.size() - 2).modes.front().kept_bytes);
}

TEST(EncoderShareTest, ContextRanksShareImagesAndTensorRanksMatrices) {
  const Job job = SharedEncoder();
  const PackShape pack = Units(64);
  const Parallelism split{.tensor = 2, .context = 4},
      shared{.tensor = 2, .context = 4, .encoder_data = 4};
  const LayerProfile a = BuildLayerProfile(job, split, pack, pack);
  const LayerProfile b = BuildLayerProfile(job, shared, pack, pack);
  EXPECT_EQ(EncoderLayer(a).parameters, EncoderLayer(b).parameters);
  EXPECT_EQ(EncoderLayer(a).static_bytes(), EncoderLayer(b).static_bytes());
  EXPECT_NEAR(EncoderLayer(b).forward.at(pack) / EncoderLayer(a).forward.at(pack), 0.25, 0.03);
  EXPECT_GT(EncoderLayer(b).forward_communication.at(pack), 0);
}

TEST(EncoderShareTest, AFrozenEncoderIsNeitherUpdatedNorReduced) {
  Job job = SharedEncoder();
  job.model.towers[0].encoder.train = TrainMode::kFrozen;
  const PackShape pack = Units(64);
  const LayerProfile b = BuildLayerProfile(job, {.tensor = 8, .encoder_data = 8}, pack, pack);
  EXPECT_EQ(EncoderLayer(b).optimizer_bytes + EncoderLayer(b).gradient_bytes, 0);
  EXPECT_EQ(TrainedBy(EncoderLayer(b)), TrainedParameters{});
  EXPECT_FALSE(EncoderLayer(b).has_backward);
}

}  // namespace
}  // namespace evenkeel::planner
