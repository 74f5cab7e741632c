#include "planner/cost/recompute_modes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace evenkeel::planner {
namespace {

constexpr PackShape kModesPack{.tokens = 1000, .squared = 1e6};

KeptTensor Tensor(double bytes_per_token, RecomputeParts dropped_by) {
  return {{.per_token = bytes_per_token}, dropped_by};
}

// Returns a layer with norm, core attention and MLP with its activation, which take 1, 2, 8 and 1
// ns per token.
LayerWork Layer() {
  LayerWork work;
  work.input_bytes = {.per_token = 2};
  work.operations = {
      {.name = "norm",
       .repeated_by = kNorms,
       .streams = {.per_token = 1},
       .kept = {Tensor(2, 0), Tensor(2, kNorms)}},
      {.name = "core",
       .repeated_by = kCoreAttention,
       .attention = {.per_token = 2},
       .kept = {Tensor(20, kCoreAttention)},
       .transient = {.per_token = 30}},
      {.name = "up",
       .repeated_by = kMlp,
       .matrices = {.per_token = 8},
       .communication = {.per_token = 1}},
      {.name = "activation",
       .repeated_by = kMlp | kActivation,
       .streams = {.per_token = 1},
       .kept = {Tensor(8, kMlp), Tensor(4, kMlp | kActivation)},
       .transient = {.per_token = 6}},
  };
  return work;
}

std::vector<RecomputeMode> Modes(double workspace, const std::vector<RecomputeParts>& also) {
  return RecomputeModes(Layer(), kModesPack, kModesPack, workspace, PartSets(Layer()), also);
}

TEST(RecomputeModesTest, KeepsWhatThePartsDoNotBringBack) {
  const LayerWork work = Layer();
  EXPECT_EQ(KeptBytes(work, 0).at(kModesPack), 36000);
  EXPECT_EQ(KeptBytes(work, kNorms).at(kModesPack), 34000);
  EXPECT_EQ(KeptBytes(work, kActivation).at(kModesPack), 32000);
  EXPECT_EQ(KeptBytes(work, kMlp).at(kModesPack), 24000);
  EXPECT_EQ(KeptBytes(work, kMlp | kCoreAttention | kNorms).at(kModesPack), 2000);
  EXPECT_EQ(KeptBytes(work, kWholeLayer).at(kModesPack), 2000);
}

TEST(RecomputeModesTest, TheTailComesAfterTheLastTensorThatIsNeeded) {
  LayerWork work = Layer();
  work.operations.push_back({.name = "down",
                             .matrices = {.per_token = 4},
                             .communication = {.per_token = 3},
                             .kept = {Tensor(6, kMlp)}});
  work.operations.push_back({.name = "residual", .streams = {.per_token = 2}});
  const auto tail = [&] {
    const Tail of = TailOf(work, kModesPack);
    return std::pair(of.compute.at(kModesPack), of.communication.at(kModesPack));
  };
  EXPECT_EQ(tail(), std::pair(0.0, 0.0));  // all of the layer is repeated
  work.stops_early = true;
  EXPECT_EQ(tail(), std::pair(6000.0, 3000.0));
  work.operations[4].adapters = {.per_token = 1};
  EXPECT_EQ(tail(), std::pair(2000.0, 3000.0));
  work.operations[5].reads_own = true;
  EXPECT_EQ(tail(), std::pair(0.0, 0.0));
}

TEST(RecomputeModesTest, TransientsCountWhatLaterOperationsHaveFreed) {
  // Core attention holds 30, but the activation's 12 have been freed by then.
  EXPECT_EQ(BackwardTransient(Layer(), kModesPack), 18000);
  LayerWork none;
  EXPECT_EQ(BackwardTransient(none, kModesPack), 0);
}

// Order by bytes saved per time: core attention 20 / 2, activation 4 / 1, norm 2 / 1, MLP 12 / 10.
TEST(RecomputeModesTest, OffersTheLowerHull) {
  const std::vector<RecomputeMode> modes = Modes(100, {});
  std::vector<RecomputeParts> parts;
  for (const RecomputeMode& mode : modes) parts.push_back(mode.parts);
  EXPECT_EQ(parts,
            (std::vector<RecomputeParts>{0, kCoreAttention, kCoreAttention | kActivation,
                                         kNorms | kCoreAttention | kActivation, kWholeLayer}));
  for (size_t q = 1; q < modes.size(); ++q) {
    EXPECT_GT(modes[q].repeated_ns, modes[q - 1].repeated_ns);
    EXPECT_LT(modes[q].kept_bytes, modes[q - 1].kept_bytes);
  }
  EXPECT_EQ(modes[2].repeated_ns, 3000);
  EXPECT_EQ(modes[2].kept_bytes, 12000);
  EXPECT_EQ(modes[2].workspace_bytes, 100 + 36000 - 12000);
  EXPECT_EQ(modes.back().repeated_ns, 13000);
  EXPECT_EQ(modes.back().kept_bytes, 2000);
}

TEST(RecomputeModesTest, CommunicationOfRepeatedPartsIsRepeated) {
  const std::vector<RecomputeMode> modes = Modes(0, {kMlp});
  for (const RecomputeMode& mode : modes) {
    const bool mlp = mode.parts == kMlp || mode.parts == kWholeLayer;
    EXPECT_EQ(mode.repeated_communication.per_token, mlp ? 1 : 0) << mode.parts;
  }
}

TEST(RecomputeModesTest, SetsThatAPlanNamesAreThere) {
  const std::vector<RecomputeMode> modes = Modes(0, {kMlp, kNorms});
  const auto has = [&](RecomputeParts parts) {
    for (const RecomputeMode& mode : modes) {
      if (mode.parts == parts) return true;
    }
    return false;
  };
  EXPECT_TRUE(has(kMlp));
  EXPECT_TRUE(has(kNorms));
  EXPECT_LE(modes.size(), kModesAtMost);
  EXPECT_EQ(modes.front().parts, 0u);
  EXPECT_EQ(modes.back().parts, static_cast<RecomputeParts>(kWholeLayer));
}

// With alternate products, streams and the products named run again, and attention does not.
TEST(RecomputeModesTest, AlternateProductsKeepResults) {
  LayerWork work = Layer();
  work.operations[1].kept_results = {.per_token = 3};
  work.operations[2].kept_results = {.per_token = 4};
  work.operations[2].products_again = {.per_token = 5};
  EXPECT_EQ(KeptBytes(work, kAlternateProducts).at(kModesPack), 9000);
  for (const bool keeps : {false, true}) {
    work.operations[2].keeps_exchange = keeps;
    const std::vector<RecomputeMode> modes =
        RecomputeModes(work, kModesPack, kModesPack, 0, {kAlternateProducts}, {});
    ASSERT_EQ(modes.size(), 3u);
    EXPECT_EQ(modes[1].parts, static_cast<RecomputeParts>(kAlternateProducts));
    EXPECT_EQ(modes[1].repeated_ns, keeps ? 7000 : 8000);
    EXPECT_EQ(modes[1].workspace_bytes, 36000 - 9000);
  }
}

// Sets that save nothing, or take as long as the whole layer, are not offered.
TEST(RecomputeModesTest, OffersTheSetsOfATrainer) {
  const auto parts = [](const std::vector<RecomputeParts>& sets) {
    std::vector<RecomputeParts> found;
    for (const RecomputeMode& mode : GivenModes(Layer(), kModesPack, kModesPack, 100, sets, {}))
      found.push_back(mode.parts);
    return found;
  };
  using Sets = std::vector<RecomputeParts>;
  EXPECT_EQ(parts({}), (Sets{0, kWholeLayer}));
  EXPECT_EQ(parts({kMlp, kNorms, kMlp, kWholeLayer, kLatentProjection}),
            (Sets{0, kNorms, kMlp, kWholeLayer}));
  EXPECT_EQ(parts({kMlp | kCoreAttention | kNorms}), (Sets{0, kWholeLayer}));
}

// A plan that names a slow set is evaluated with it, however many the trainer has.
TEST(RecomputeModesTest, ASetThatIsNamedStays) {
  LayerWork work = Layer();
  std::vector<RecomputeParts> sets;
  for (uint32_t i = 0; i < 9; ++i) {
    const RecomputeParts part = RecomputeParts{1} << (8 + i);
    const double time = 1 + i;
    work.operations.push_back({.repeated_by = part, .matrices = {.per_token = time}});
    work.operations.back().kept.push_back({.bytes = {.per_token = 2}, .dropped_by = part});
    sets.push_back(part);
  }
  const auto has = [&](const std::vector<RecomputeParts>& also) {
    const std::vector<RecomputeMode> modes =
        GivenModes(work, kModesPack, kModesPack, 100, sets, also);
    EXPECT_LE(modes.size(), kModesAtMost);
    return std::any_of(modes.begin(), modes.end(),
                       [&](const RecomputeMode& mode) { return mode.parts == sets.back(); });
  };
  EXPECT_FALSE(has({}));
  EXPECT_TRUE(has({sets.back()}));
}

}  // namespace
}  // namespace evenkeel::planner
