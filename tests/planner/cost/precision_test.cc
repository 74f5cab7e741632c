// The effect of a precision recipe on the time, memory and traffic of layers, and on plans.
#include "planner/trainer/precision.h"

#include <gtest/gtest.h>

#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/make_plan.h"
#include "planner/simulate/stage_sync.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kPrecisionPack{.units = 0, .tokens = 8192, .squared = 8192.0 * 8192};
constexpr Parallelism kOne{.tensor = 1, .pipeline = 1, .data = 8};

Job LlamaOn(const char* gpu, Precision precision) {
  Job job = TextJob("llama3-70b", gpu, 64);
  job.training.precision = precision;
  return job;
}

LayerCost PrecisionLayerOf(const Job& job, LayerKind kind) {
  for (const LayerCost& layer :
       BuildLayerProfile(job, kOne, kPrecisionPack, kPrecisionPack).classes) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no layer of that kind";
  return {};
}

double Forward(const Job& job, LayerKind kind) {
  return PrecisionLayerOf(job, kind).forward.at(kPrecisionPack);
}

TEST(PrecisionTest, EveryRecipeHasARecord) {
  for (const PrecisionRecipe& recipe : PrecisionRecipes()) {
    EXPECT_EQ(&RecipeOf(recipe.precision), &recipe);
    EXPECT_EQ(recipe.source.empty(), recipe.precision == Precision::k16Bit) << recipe.name;
  }
}

TEST(PrecisionTest, TransformerLayersGetFasterAndTheHeadDoesNot) {
  const Job plain = LlamaOn("h100-sxm-80gb", Precision::k16Bit);
  const Job fp8 = LlamaOn("h100-sxm-80gb", Precision::kFp8Current);
  const double ratio = Forward(fp8, LayerKind::kDense) / Forward(plain, LayerKind::kDense);
  EXPECT_LT(ratio, 0.75);
  EXPECT_GT(ratio, 0.5);
  EXPECT_EQ(Forward(fp8, LayerKind::kHead), Forward(plain, LayerKind::kHead));
  // A scale that is known saves a pass over each operand.
  EXPECT_LT(Forward(LlamaOn("h100-sxm-80gb", Precision::kFp8Delayed), LayerKind::kDense),
            Forward(fp8, LayerKind::kDense));
}

// The first and the last layers are classes of their own, which cost what they do in 16 bits.
TEST(PrecisionTest, EndLayersMayStayIn16Bits) {
  Job job = LlamaOn("b200-sxm-180gb", Precision::kFp8Current);
  job.training.execution.holds_quantised_weights = true;
  const LayerCost fp8 = PrecisionLayerOf(job, LayerKind::kDense);
  job.training.execution.start_layers_16bit = 1;
  job.training.execution.end_layers_16bit = 2;
  const LayerProfile profile = BuildLayerProfile(job, kOne, kPrecisionPack, kPrecisionPack);
  const LayerCost plain =
      PrecisionLayerOf(LlamaOn("b200-sxm-180gb", Precision::k16Bit), LayerKind::kDense);
  const int64_t layers = job.model.language_model.layers;
  for (int64_t i = 0; i < layers; ++i) {
    const bool in_16bit = i < 1 || i >= layers - 2;
    const LayerCost& layer = profile.at(i + 1);  // after the token embedding
    ASSERT_EQ(layer.kind, LayerKind::kDense);
    EXPECT_EQ(layer.weight_bytes, in_16bit ? plain.weight_bytes : fp8.weight_bytes) << i;
    EXPECT_EQ(layer.forward_ns > fp8.forward_ns, in_16bit) << i;
  }
  EXPECT_GT(plain.weight_bytes, fp8.weight_bytes);
  // In 16 bits they change nothing.
  job.training.precision = Precision::k16Bit;
  EXPECT_EQ(BuildLayerProfile(job, kOne, kPrecisionPack, kPrecisionPack).classes.size(), 3u);
}

TEST(PrecisionTest, WeightsAreHeldTwiceOrInTheFormatAlone) {
  struct Case {
    const char* gpu;
    Precision precision;
    double beside, alone;  // bytes per parameter
  };
  // Hopper's FP8 products read one layout, so that each weight has two copies; MXFP8 scales run
  // along rows or along columns. No trainer holds only block-scaled or FP4 weights.
  const Case cases[] = {{"h100-sxm-80gb", Precision::kFp8Current, 4, 2},
                        {"b200-sxm-180gb", Precision::kFp8Current, 3, 1},
                        {"b200-sxm-180gb", Precision::kMxfp8, 4.0625, 2.0625},
                        {"h100-sxm-80gb", Precision::kFp8Block, 4.0625, 4.0625},
                        {"b200-sxm-180gb", Precision::kNvfp4, 3.125, 3.125}};
  for (const Case& c : cases) {
    Job job = LlamaOn(c.gpu, c.precision);
    for (const bool alone : {false, true}) {
      job.training.execution.holds_quantised_weights = alone;
      const LayerCost layer = PrecisionLayerOf(job, LayerKind::kDense);
      // Norms, which stay in 16 bits, are a few parameters in a million.
      EXPECT_NEAR(static_cast<double>(layer.weight_bytes) / static_cast<double>(layer.parameters),
                  alone ? c.alone : c.beside, 1e-3)
          << c.gpu << " " << RecipeOf(c.precision).name;
      const LayerCost head = PrecisionLayerOf(job, LayerKind::kHead);
      EXPECT_EQ(head.weight_bytes, 2 * head.parameters);
    }
  }
}

TEST(PrecisionTest, ModulesThatQuantiseAtEachProductHoldNoCopies) {
  for (const char* gpu : {"h100-sxm-80gb", "b200-sxm-180gb"}) {
    Job job = LlamaOn(gpu, Precision::kFp8Current);
    job.training.execution.keeps_quantised_inputs = false;
    const LayerCost layer = PrecisionLayerOf(job, LayerKind::kDense);
    EXPECT_EQ(layer.weight_bytes, 2 * layer.parameters) << gpu;
  }
}

TEST(PrecisionTest, InputsAreKeptQuantisedWhereTheTrainerDoesSo) {
  const auto kept = [](const Job& job) {
    return PrecisionLayerOf(job, LayerKind::kDense).modes.front().kept_bytes;
  };
  const int64_t plain = kept(LlamaOn("b200-sxm-180gb", Precision::k16Bit));
  Job job = LlamaOn("b200-sxm-180gb", Precision::kMxfp8);
  EXPECT_LT(kept(job), plain);
  const int64_t mxfp8 = kept(job);
  job.training.precision = Precision::kNvfp4;
  EXPECT_LT(kept(job), mxfp8);
  job.training.execution.keeps_quantised_inputs = false;
  EXPECT_EQ(kept(job), plain);
}

TEST(PrecisionTest, WeightsThatAreHeldQuantisedAreGatheredFaster) {
  Job job = LlamaOn("h100-sxm-80gb", Precision::kFp8Current);
  const TrainedParameters trained{.all = 1'000'000'000};
  const StageSync wide = SyncOf(job, kOne, trained);
  job.training.execution.holds_quantised_weights = true;
  const StageSync narrow = SyncOf(job, kOne, trained);
  EXPECT_LT(narrow.gather_ns, wide.gather_ns);
  EXPECT_EQ(narrow.reduce_ns, wide.reduce_ns);
}

TEST(PrecisionTest, ExchangesOfExpertsHideBesideCompute) {
  Job job = TextJob("qwen3-30b-a3b", "h100-sxm-80gb", 64);
  const Parallelism p{.tensor = 1, .pipeline = 1, .data = 64, .expert = 8};
  const auto communication = [&] {
    for (const LayerCost& layer :
         BuildLayerProfile(job, p, kPrecisionPack, kPrecisionPack).classes) {
      if (layer.kind == LayerKind::kMoe) return layer.forward_communication.at(kPrecisionPack);
    }
    return -1.0;
  };
  const double exposed = communication();
  job.training.execution.overlap_experts = true;
  const double left = communication();
  EXPECT_GT(exposed, 0);
  EXPECT_GE(left, 0);
  EXPECT_LT(left, 0.5 * exposed);
}

TEST(PrecisionTest, OtherPrecisionsAreThoseOfTheGpuAndTheTrainer) {
  const auto others = [](Job job) {
    job.compare_precisions = true;
    std::vector<Precision> found;
    for (const OtherPrecision& other : MakePlan(job, {}).plan.other_precisions) {
      EXPECT_TRUE(other.plan.has_value());
      found.push_back(other.precision);
    }
    return found;
  };
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  EXPECT_EQ(others(job), (std::vector<Precision>{Precision::kFp8Delayed, Precision::kFp8Current,
                                                 Precision::kFp8Block}));
  job.training.precision = Precision::kFp8Block;
  EXPECT_EQ(others(job).front(), Precision::k16Bit);
  job.training.precision = Precision::k16Bit;
  job.training.trainer = FindTrainer("internevo");
  EXPECT_TRUE(others(job).empty());
  EXPECT_TRUE(others(TextJob("llama3-8b", "a100-sxm-80gb", 8)).empty());
}

}  // namespace
}  // namespace evenkeel::planner
