#include "client/cli/timeline/timeline_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "client/cli/base/command_error.h"
#include "tests/client/test_folder.h"
#include "tests/client/timelines.h"

namespace evenkeel::cli {
namespace {

class TimelineFilesTest : public testing::Test {
 protected:
  static v1::Timeline GoldenTimeline() {
    return TimelineOf(GoldenPlan(), PipelineOf(GoldenPlan(), planner::Schedule::kOneFOneB, 1, 4));
  }

  const TestFolder folder_;
};

TEST_F(TimelineFilesTest, WritesWhatIsAskedFor) {
  TimelineFlags flags;
  EXPECT_TRUE(WriteTimeline(flags, GoldenPlan(), GoldenTimeline()).empty());
  flags.trace = folder_.Path("t.json");
  flags.report = folder_.Path("t.html");
  EXPECT_EQ(WriteTimeline(flags, GoldenPlan(), GoldenTimeline()).size(), 2u);
  EXPECT_NE(ReadText(flags.trace).find("traceEvents"), std::string::npos);
  EXPECT_NE(ReadText(flags.report).find("<html"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(flags.trace + ".partial"));
}

TEST_F(TimelineFilesTest, WritesOverFilesOnlyWhenForced) {
  std::ofstream(folder_.Path("t.json")) << "mine";
  TimelineFlags flags;
  flags.trace = folder_.Path("t.json");
  EXPECT_THROW(CheckTimelineFlags(flags), CommandError);
  flags.force = true;
  CheckTimelineFlags(flags);
  flags.report = flags.trace;
  EXPECT_THROW(CheckTimelineFlags(flags), CommandError);
}

TEST_F(TimelineFilesTest, WhatIsNoTimelineIsNotWritten) {
  v1::Timeline broken = GoldenTimeline();
  broken.mutable_stages(0)->mutable_operations()->add_chunks(0);
  TimelineFlags flags;
  flags.trace = folder_.Path("t.json");
  EXPECT_THROW(WriteTimeline(flags, GoldenPlan(), broken), CommandError);
  EXPECT_FALSE(std::filesystem::exists(flags.trace));
}

TEST_F(TimelineFilesTest, AsksWithWhatThePlanDecides) {
  v1::Plan plan = GoldenPlan();
  plan.mutable_offload()->set_optimizer_ratio(.5);
  v1::Job job;
  job.mutable_model()->set_name("m");
  const v1::EvaluatePlanRequest request = TimelineRequest(job, plan);
  EXPECT_TRUE(request.include_timeline());
  EXPECT_EQ(request.job().model().name(), "m");
  EXPECT_EQ(request.plan().stages_size(), plan.stages_size());
  EXPECT_EQ(request.plan().stages(1).layers(0).DebugString(),
            plan.stages(1).layers(0).DebugString());
  EXPECT_EQ(request.plan().batch_rule().token_cap(), plan.batch_rule().token_cap());
  EXPECT_EQ(request.plan().offload().optimizer_ratio(), .5) << "a job may leave it to the planner";
  EXPECT_EQ(request.plan().predictions().micro_batches(), plan.predictions().micro_batches());
  EXPECT_FALSE(request.plan().predictions().has_step());
  EXPECT_TRUE(request.evaluate_only()) << "the plan is known";
  EXPECT_FALSE(TimelineRequest(job, {}).plan().has_parallelism());
}

}  // namespace
}  // namespace evenkeel::cli
