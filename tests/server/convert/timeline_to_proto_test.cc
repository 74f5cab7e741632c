#include "server/convert/answer/timeline_to_proto.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "evenkeel/v1/timeline.pb.h"

namespace evenkeel::server {
namespace {

planner::PipelineSpec TwoPipelineStages() {
  planner::PipelineSpec spec;
  spec.shape = {planner::Schedule::kZeroBubble, 2, 1, 3};
  spec.forward_ns = {4, 5};
  spec.backward_ns = {9, 12};
  spec.recompute_ns = {2, 0};
  spec.weight_gradient_ns = {3, 4};
  spec.send_ns = {1};
  spec.gather_ns = {6, 7};
  spec.sync_ns = {8, 9};
  spec.optimizer_ns = {10, 11};
  return spec;
}

planner::MemoryPart Activations() {
  planner::MemoryPart part;
  part.name = "activations";
  part.kept_bytes = {100, 50};
  part.weight_gradient_bytes = {40, 20};
  return part;
}

TEST(TimelineToProtoTest, KeepsEveryOperation) {
  const planner::Timeline timeline = planner::MakeTimeline({TwoPipelineStages()}, {Activations()});
  v1::Timeline out;
  Fill(timeline, &out);
  EXPECT_EQ(out.schedule_name(), "zero-bubble ZB-H1");
  EXPECT_EQ(out.virtual_stages(), 1);
  EXPECT_EQ(out.micro_batches(), 3);
  EXPECT_EQ(out.data_index(), 0);
  EXPECT_EQ(out.ranks_size(), 0);
  EXPECT_DOUBLE_EQ(out.step_seconds(), static_cast<double>(timeline.run.step_ns) / 1e9);
  EXPECT_DOUBLE_EQ(out.pipeline_seconds(), static_cast<double>(timeline.run.pipeline_ns) / 1e9);
  ASSERT_EQ(out.stages_size(), 2);
  std::set<v1::OperationKind> kinds;
  for (int s = 0; s < 2; ++s) {
    const std::vector<planner::Operation>& from = timeline.operations[static_cast<size_t>(s)];
    const v1::Operations& to = out.stages(s).operations();
    const int count = static_cast<int>(from.size());
    ASSERT_EQ(to.kinds_size(), count);
    ASSERT_EQ(to.chunks_size(), count);
    ASSERT_EQ(to.packs_size(), count);
    ASSERT_EQ(to.start_seconds_size(), count);
    ASSERT_EQ(to.end_seconds_size(), count);
    for (int i = 0; i < count; ++i) {
      const planner::Operation& operation = from[static_cast<size_t>(i)];
      kinds.insert(static_cast<v1::OperationKind>(to.kinds(i)));
      EXPECT_EQ(to.chunks(i), operation.chunk);
      EXPECT_EQ(to.packs(i), operation.micro_batch);
      EXPECT_DOUBLE_EQ(to.start_seconds(i), static_cast<double>(operation.start_ns) / 1e9);
      EXPECT_DOUBLE_EQ(to.end_seconds(i), static_cast<double>(operation.end_ns) / 1e9);
    }
  }
  EXPECT_EQ(kinds.size(), 9u);  // all kinds
  EXPECT_EQ(kinds.count(v1::OPERATION_KIND_UNSPECIFIED), 0u);
}

TEST(TimelineToProtoTest, StageTimesSumToTheStep) {
  v1::Timeline out;
  Fill(planner::MakeTimeline({TwoPipelineStages()}, {}), &out);
  for (const v1::StageTimeline& stage : out.stages()) {
    EXPECT_FALSE(stage.has_memory());
    double sum = 0;
    const auto* reflection = v1::StageTime::GetReflection();
    for (int i = 0; i < v1::StageTime::descriptor()->field_count(); ++i) {
      sum += reflection->GetDouble(stage.time(), v1::StageTime::descriptor()->field(i));
    }
    EXPECT_NEAR(sum, out.step_seconds(), 1e-15);
  }
}

TEST(TimelineToProtoTest, MemoryHasItsPeak) {
  const planner::Timeline timeline = planner::MakeTimeline({TwoPipelineStages()}, {Activations()});
  v1::Timeline out;
  Fill(timeline, &out);
  const v1::MemoryCurve& memory = out.stages(1).memory();
  EXPECT_EQ(memory.peak_bytes(), 50 + 20);
  EXPECT_EQ(memory.peak_in_flight(), 1);
  EXPECT_EQ(memory.peak_weight_gradient_in_flight(), 1);
  EXPECT_EQ(memory.peak_operation(), v1::OPERATION_KIND_FORWARD);
  EXPECT_EQ(memory.peak_pack(), 1);
  ASSERT_EQ(memory.peak_parts_size(), 1);
  EXPECT_EQ(memory.peak_parts(0).name(), "activations");
  EXPECT_EQ(memory.peak_parts(0).size_bytes(), 70);
  ASSERT_EQ(memory.at_seconds_size(), memory.held_bytes_size());
  EXPECT_EQ(memory.at_seconds_size(), static_cast<int>(timeline.memory[1].curve.size()));
  EXPECT_EQ(memory.held_bytes(memory.held_bytes_size() - 1), 0);
}

TEST(TimelineToProtoTest, RanksWithPacksOfTheirOwn) {
  planner::PipelineSpec slow = TwoPipelineStages();
  slow.forward_ns = {40, 50};
  v1::Timeline out;
  Fill(planner::MakeTimeline({TwoPipelineStages(), slow}, {}), &out);
  EXPECT_EQ(out.data_index(), 1);
  ASSERT_EQ(out.ranks_size(), 2);
  EXPECT_GT(out.ranks(0).idle_seconds(), 0);
  EXPECT_EQ(out.ranks(1).idle_seconds(), 0);
  EXPECT_DOUBLE_EQ(out.ranks(1).pipeline_seconds(), out.pipeline_seconds());
}

}  // namespace
}  // namespace evenkeel::server
