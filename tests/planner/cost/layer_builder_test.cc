#include "planner/cost/layer_builder.h"

#include <gtest/gtest.h>

#include "planner/cost/transformer_layer.h"
#include "planner/trainer/precision.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kBuilderPack{.tokens = 4096, .squared = 4096.0 * 4096};

// The input of a product may have no gradient. Then nothing fills one.
TEST(LayerBuilderTest, PassesThatMoveNothingTakeNoTime) {
  const Cluster cluster = ClusterOf("a100-sxm-80gb", 8);
  const KernelTime kernels(cluster.gpu);
  const Network network(cluster, {});
  const Dataset dataset;
  const Execution execution{.deterministic = true};
  const Parallelism one;
  const RankSetting setting{.kernels = kernels,
                            .network = network,
                            .cluster = cluster,
                            .execution = execution,
                            .parallelism = one,
                            .dataset = dataset,
                            .recipe = RecipeOf(Precision::k16Bit),
                            .mean = kBuilderPack};
  const auto filled = [&](bool fixed_input) {
    LayerBuilder b(setting, TokenRows(one), TrainMode::kFull, {});
    b.Begin("product");
    b.AddLinear({.in = 4096, .out = 4096, .fixed_input = fixed_input});
    return b.operation();
  };
  EXPECT_GT(filled(true).streams.at(kBuilderPack), 0);
  EXPECT_EQ(filled(true).stream_gradients.at(kBuilderPack), 0);
  EXPECT_EQ(filled(false).stream_gradients.at(kBuilderPack),
            filled(false).streams.at(kBuilderPack));
}

}  // namespace
}  // namespace evenkeel::planner
