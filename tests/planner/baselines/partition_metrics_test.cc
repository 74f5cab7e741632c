#include "tests/baselines/partition_metrics.h"

#include <gtest/gtest.h>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

TEST(MetricsOfTest, AddsUpByHand) {
  LayerProfile profile;
  LayerCost dense{.kind = LayerKind::kDense};
  dense.forward_ns = 2'000'000, dense.parameters = 500'000'000, dense.mean_output_bytes = 7;
  profile.classes = {dense};
  profile.chain = {0, 0, 0, 0};
  profile.transformer_layers = 4;
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 4);
  const Segments segments(job, profile, {.tensor = 2, .pipeline = 2}, 4);
  const PartitionMetrics metrics = MetricsOf(segments, {0, 1, 4});
  EXPECT_DOUBLE_EQ(metrics.layers_variance, 1);      // 1 and 3
  EXPECT_DOUBLE_EQ(metrics.parameters_variance, 1);  // 1e9 and 3e9 parameters
  EXPECT_DOUBLE_EQ(metrics.forward_variance, 4);     // 2 and 6 ms
  EXPECT_EQ(metrics.crossing_bytes, 7);
}

}  // namespace
}  // namespace evenkeel::planner
