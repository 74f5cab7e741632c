#include "planner/cost/profile_rating.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/planner/profiles.h"

namespace evenkeel::planner {
namespace {

using testing::HasSubstr;

double RatioOf(const Judgement& judgement, Rated what) {
  for (const Rating& r : judgement.ratings) {
    if (r.what == what) return r.ratio;
  }
  return -1;
}

TEST(ProfileRatingTest, RatiosAreMeasuredOverPredicted) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kEncoder, kTiles, 1.25);
  AddLayerTime(profile, LayerKind::kDense, kText, 0.9);
  const Judgement judgement = Judge(profile, {}, {});
  EXPECT_TRUE(judgement.refused.empty());
  ASSERT_EQ(judgement.ratings.size(), 4u);
  for (const Rating& r : judgement.ratings) {
    EXPECT_NEAR(r.ratio, r.kind == LayerKind::kEncoder ? 1.25 : 0.9, 1e-5);
    EXPECT_EQ(r.tensor, 2);
  }
}

// Communication and a repeated forward pass are excluded from the comparison.
TEST(ProfileRatingTest, TakesOutCommunicationAndRecompute) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kDense, kText, 1.1);
  LayerTimeMeasurement& m = profile.layer_times[0];
  const LayerCost layer = ModelledLayer(profile, LayerKind::kDense, kText);
  const PackShape pack = {0, 4096, 4096.0 * 1024};
  m.forward_ns += Nearest(layer.forward_communication.at(pack));
  m.backward_ns += Nearest(layer.backward_communication.at(pack)) + m.forward_ns;
  m.with_communication = m.backward_recomputes = true;
  const Judgement judgement = Judge(profile, {}, {});
  EXPECT_NEAR(RatioOf(judgement, Rated::kForward), 1.1, 1e-5);
  EXPECT_NEAR(RatioOf(judgement, Rated::kBackward), 1.1, 1e-5);
}

TEST(ProfileRatingTest, RefusesWhatIsBeyondTheBounds) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kDense, kText, 2.99);
  AddLayerTime(profile, LayerKind::kDense, kText, 3.02);
  const Judgement judgement = Judge(profile, {}, {});
  ASSERT_EQ(judgement.refused.size(), 1u);
  EXPECT_EQ(judgement.refused[0].index, 1);
  EXPECT_EQ(judgement.refused[0].reason, RefusalReason::kOutOfBounds);
  EXPECT_THAT(judgement.refused[0].text, HasSubstr("3.02x, accepted: 1/3 to 3"));
  EXPECT_EQ(judgement.accepted.layer_times.size(), 1u);
}

TEST(ProfileRatingTest, RefusesWhatNoGpuCanDo) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kDense, kText, 0.5);  // of a model at about 75% of the peak
  const Judgement judgement = Judge(profile, {}, {});
  ASSERT_EQ(judgement.refused.size(), 1u);
  EXPECT_EQ(judgement.refused[0].reason, RefusalReason::kImpossible);
  EXPECT_THAT(judgement.refused[0].text, HasSubstr("peak of a100-sxm-80gb"));
}

// A measured time without its communication may be negative.
TEST(ProfileRatingTest, RefusesTimesBelowTheirCommunication) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kDense, kText, 1);
  profile.layer_times[0].forward_ns = profile.layer_times[0].backward_ns = 1000;
  profile.layer_times[0].with_communication = true;
  EXPECT_EQ(Judge(profile, {}, {}).refused.size(), 1u);
  // Such a time must not spoil the comparison with many others.
  for (int i = 0; i < 8; ++i) AddLayerTime(profile, LayerKind::kDense, kText, 1);
  const Judgement judgement = Judge(profile, {}, {});
  ASSERT_EQ(judgement.refused.size(), 1u);
  EXPECT_EQ(judgement.refused[0].reason, RefusalReason::kImpossible);
}

TEST(ProfileRatingTest, RefusesOutliersOfMany) {
  MeasuredProfile profile = QuickstartProfile();
  for (const double ratio : {1.00, 1.02, 1.04, 1.20, 1.06, 1.45}) {
    AddLayerTime(profile, LayerKind::kDense, kText, ratio);
  }
  const Judgement judgement = Judge(profile, {}, {});
  ASSERT_EQ(judgement.refused.size(), 1u);  // 1.20 is within 25%
  EXPECT_EQ(judgement.refused[0].index, 5);
  EXPECT_EQ(judgement.refused[0].reason, RefusalReason::kOutlier);
}

TEST(ProfileRatingTest, OutliersAreJudgedByTheProfilesInForce) {
  MeasuredProfile known = QuickstartProfile();
  for (const double ratio : {1.00, 1.02, 1.04, 1.06}) {
    AddLayerTime(known, LayerKind::kDense, kText, ratio);
  }
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kDense, kText, 1.5);
  EXPECT_TRUE(Judge(profile, {}, {}).refused.empty());
  EXPECT_EQ(Judge(profile, RatingsOf(known), {}).refused.size(), 1u);
}

TEST(ProfileRatingTest, WidelySpreadValuesExcludeLess) {
  MeasuredProfile profile = QuickstartProfile();
  for (const double ratio : {0.9, 1.2, 1.5, 1.8, 2.1, 2.4}) {
    AddLayerTime(profile, LayerKind::kDense, kText, ratio);
  }
  EXPECT_TRUE(Judge(profile, {}, {}).refused.empty());
}

TEST(ProfileRatingTest, TwoProbesTellWhatALayerKeeps) {
  MeasuredProfile profile = QuickstartProfile();
  AddProbes(profile, LayerKind::kEncoder, kTiles, 8, 1.1);
  const Judgement judgement = Judge(profile, {}, {});
  EXPECT_TRUE(judgement.refused.empty());
  EXPECT_NEAR(RatioOf(judgement, Rated::kActivation), 1.1, 1e-6);
}

// BAR's first probe recomputes everything, so at its peak one layer is held whole in addition.
TEST(ProfileRatingTest, APeakWithAllRecomputedHoldsOneLayerWhole) {
  const LayerCost layer = ModelledLayer(QuickstartProfile(), LayerKind::kEncoder, kTiles);
  for (const bool is_peak : {true, false}) {
    MeasuredProfile profile = QuickstartProfile();
    MemoryMeasurement m;
    m.kind = LayerKind::kEncoder;
    m.layers = 8;
    m.in_flight = 2;
    m.shape = kTiles;
    m.is_peak = is_peak;
    m.allocated_bytes = 1000 + 16 * layer.modes.front().kept_bytes;
    profile.memory.push_back(m);
    m.recomputed = 8;
    m.allocated_bytes =
        1000 + 16 * layer.modes.back().kept_bytes + (is_peak ? layer.modes.front().kept_bytes : 0);
    profile.memory.push_back(m);
    const Judgement judgement = Judge(profile, {}, {});
    ASSERT_TRUE(judgement.refused.empty()) << judgement.refused[0].text;
    EXPECT_NEAR(RatioOf(judgement, Rated::kActivation), 1, 1e-9);
  }
}

TEST(ProfileRatingTest, RefusesProbesThatTellNothing) {
  MeasuredProfile profile = QuickstartProfile();
  AddProbes(profile, LayerKind::kEncoder, kTiles, 8, 1);
  profile.memory.pop_back();
  Judgement judgement = Judge(profile, {}, {});
  ASSERT_EQ(judgement.refused.size(), 1u);
  EXPECT_EQ(judgement.refused[0].reason, RefusalReason::kSingleSetting);

  AddProbes(profile, LayerKind::kDense, kText, 8, 1);
  profile.memory[2].allocated_bytes = profile.memory[1].allocated_bytes;
  judgement = Judge(profile, {}, {});
  ASSERT_EQ(judgement.refused.size(), 3u);  // includes both of the dense layer
  EXPECT_EQ(judgement.refused[1].reason, RefusalReason::kImpossible);
  EXPECT_TRUE(judgement.accepted.memory.empty());
}

TEST(ProfileRatingTest, JudgesSteps) {
  MeasuredProfile profile = QuickstartProfile();
  const auto add = [&](int64_t measured, double mfu) {
    StepMeasurement m;
    m.measured_ns = measured;
    m.predicted_ns = 1'000'000;
    m.mfu = mfu;
    profile.steps.push_back(m);
  };
  add(1'100'000, 0.5);
  add(3'100'000, 0.5);
  add(400'000, 0.5);
  const Judgement judgement = Judge(profile, {}, {});
  ASSERT_EQ(judgement.refused.size(), 2u);
  EXPECT_EQ(judgement.refused[0].reason, RefusalReason::kOutOfBounds);
  EXPECT_EQ(judgement.refused[1].reason, RefusalReason::kImpossible);
  EXPECT_THAT(judgement.refused[1].text, HasSubstr("125.0% of the GPUs' peak"));
  profile.steps.resize(1);
  EXPECT_EQ(Judge(profile, {}, {1.6, 1.6, 1.6, 1.6}).refused.size(), 1u);
}

TEST(ProfileRatingTest, KnowsTheKindsOfAModel) {
  MeasuredProfile profile = QuickstartProfile();
  EXPECT_TRUE(HasKind(profile, LayerKind::kProjector));
  EXPECT_TRUE(HasKind(profile, LayerKind::kHead));
  EXPECT_FALSE(HasKind(profile, LayerKind::kMoe));
  profile.encoder_only = true;
  EXPECT_TRUE(HasKind(profile, LayerKind::kPatchEmbedding));
  EXPECT_FALSE(HasKind(profile, LayerKind::kProjector));
  EXPECT_FALSE(HasKind(profile, LayerKind::kDense));
}

TEST(MedianRatioTest, EvenAndOddCounts) {
  EXPECT_EQ(MedianRatio({}).count, 0);
  EXPECT_EQ(MedianRatio({}).value, 1);
  EXPECT_DOUBLE_EQ(MedianRatio({3, 1, 2}).value, 2);
  EXPECT_DOUBLE_EQ(MedianRatio({4, 1, 2, 3}).value, 2.5);
  EXPECT_DOUBLE_EQ(MedianRatio({1, 2, 3}).spread, 0.5);
}

}  // namespace
}  // namespace evenkeel::planner
