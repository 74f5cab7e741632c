// Tests that trace and report of a simulated step are well-formed and self-contained and show every
// operation.
#include "client/cli/timeline/pipeline_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "client/cli/timeline/chrome_trace.h"
#include "client/cli/timeline/pipeline_picture.h"
#include "client/cli/timeline/stage_charts.h"
#include "tests/client/html.h"
#include "tests/client/timelines.h"

namespace evenkeel::cli {
namespace {

using planner::Schedule;

v1::Timeline Simulated(Schedule schedule, int64_t chunks, int64_t micro_batches, int ranks = 1) {
  const v1::Plan plan = GoldenPlan();
  return TimelineOf(plan, PipelineOf(plan, schedule, chunks, micro_batches), ranks);
}

TEST(ChromeTraceTest, HasEveryOperationOnItsStage) {
  const v1::Plan plan = GoldenPlan();
  const v1::Timeline timeline = Simulated(Schedule::kInterleaved, 2, 8);
  const auto trace = nlohmann::json::parse(ChromeTrace(plan, timeline));
  std::map<int, int> operations, counters;
  std::set<std::string> names, processes, threads;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    const int stage = event.at("pid");
    if (phase == "X") {
      ++operations[stage];
      names.insert(event.at("name"));
      ASSERT_GE(event.at("ts").get<double>(), 0);
      ASSERT_GT(event.at("dur").get<double>(), 0);
      ASSERT_LE(event.at("ts").get<double>() + event.at("dur").get<double>(),
                timeline.step_seconds() * 1e6 + 1);
    } else if (phase == "C") {
      ++counters[stage];
    } else if (event.at("name") == "process_name") {
      processes.insert(event.at("args").at("name"));
    } else if (event.at("name") == "thread_name") {
      threads.insert(event.at("args").at("name"));
    }
  }
  for (int s = 0; s < timeline.stages_size(); ++s) {
    EXPECT_EQ(operations[s], timeline.stages(s).operations().kinds_size());
    EXPECT_EQ(counters[s], timeline.stages(s).memory().at_seconds_size());
  }
  EXPECT_EQ(names.count("forward 1.7"), 1u);
  EXPECT_EQ(names.count("optimizer"), 1u);
  EXPECT_EQ(processes.count("stage 0: patches + encoder 0-21 (22)"), 1u);
  EXPECT_EQ(threads, (std::set<std::string>{"compute", "sends", "data parallel"}));
}

// A thread of a stage never does two things at once, because viewers would draw one inside the
// other.
TEST(ChromeTraceTest, ComputeDoesNotOverlap) {
  const v1::Plan plan = GoldenPlan();
  for (const Schedule schedule : {Schedule::kOneFOneB, Schedule::kGPipe, Schedule::kZeroBubble}) {
    const auto trace = nlohmann::json::parse(ChromeTrace(plan, Simulated(schedule, 1, 9)));
    std::map<int, double> free;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") != "X" || event.at("tid") != 1) continue;
      ASSERT_GE(event.at("ts").get<double>(), free[event.at("pid")]);
      free[event.at("pid")] = event.at("ts").get<double>() + event.at("dur").get<double>() - 0.001;
    }
  }
}

TEST(PipelineReportTest, IsWellFormedAndHoldsEverythingItself) {
  const v1::Plan plan = GoldenPlan();
  for (const v1::Timeline& timeline :
       {Simulated(Schedule::kOneFOneB, 1, 62), Simulated(Schedule::kInterleaved, 3, 16),
        Simulated(Schedule::kZeroBubble, 1, 12, 4), Simulated(Schedule::kGPipe, 1, 900)}) {
    const std::string html = PipelineReport(plan, timeline);
    EXPECT_EQ(NestingFault(html), "");
    for (const char* outside : {"src=", "href=", "@import", "<script", "<link", "url("}) {
      EXPECT_EQ(CountOf(html, outside), 0u) << outside;
    }
    EXPECT_EQ(CountOf(html, "http"), CountOf(html, "http://www.w3.org/2000/svg"));
    EXPECT_EQ(html.find("nan"), std::string::npos);
    EXPECT_EQ(html.find("\"inf"), std::string::npos);
    EXPECT_EQ(html.find("\"-"), std::string::npos);  // there are no negative sizes
    // A page stays small enough for a browser, however many packs there are.
    EXPECT_LT(html.size(), 1u << 20);
  }
}

TEST(PipelineReportTest, SaysWhatMatters) {
  const std::string html = PipelineReport(GoldenPlan(), Simulated(Schedule::kOneFOneB, 1, 12));
  for (const char* part :
       {"internvl-chat-v1.5 on 32 × a100-sxm-80gb", "tensor 4 × pipeline 4 × data 2; 1F1B",
        "12 packs per rank and step", "The whole step", "71.8 of 79.1 GiB",
        "backward of pack 0</text>", "<title>forward of pack 11: 91.2 ms, from",
        "waiting for a backward", "encoder 22-44 (23) + projector + embedding"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

// The report's heading has the step time that the text of `plan` shows. The time of the simulated
// step in the pictures is labelled as such.
TEST(PipelineReportTest, ShowsTheStepTimeOfTheText) {
  const v1::Plan plan = GoldenPlan();
  const std::string html = PipelineReport(plan, Simulated(Schedule::kOneFOneB, 1, 12));
  for (const char* part :
       {"<div class=\"figure\">24.2 s</div><div class=\"below\">mean of steps\nwith real packs",
        "as simulated with\nmean packs", "Every pack is the mean pack.",
        "The simulated step takes 23.3 s with mean packs. Unequal packs add 871 ms",
        "a step of 512 samples takes 23.3 s under this plan. No plan in the search space",
        "<p class=\"verdict\">Fits: 24.2 s per step, 0.716 GPU-days",
        "Real packs are unequal: with them, the mean is 24.2 s."}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  const std::string real = PipelineReport(plan, Simulated(Schedule::kOneFOneB, 1, 12, 4));
  EXPECT_NE(real.find("as simulated with\nthe packs of one step"), std::string::npos);
  EXPECT_NE(real.find("because steps differ in their packs: 24.2 s is the mean over many."),
            std::string::npos);
}

TEST(PipelineReportTest, BeginsWithTheNotes) {
  v1::Plan plan = GoldenPlan();
  plan.set_memory_fit(v1::MEMORY_FIT_WITHIN_MARGIN);
  plan.mutable_predictions()->mutable_memory_interval()->set_coverage_ratio(0.8);
  const std::string html = PipelineReport(plan, Simulated(Schedule::kOneFOneB, 1, 900));
  for (const char* part : {"<p class=\"note\">That may not suffice: in 80% of runs",
                           "<p class=\"note\">Note: 3 of 40,941 samples exceed a cap",
                           "the height of a colour is its share of the time, and the first and"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

// Names come from requests.
TEST(PipelineReportTest, NamesStayText) {
  v1::Plan plan = GoldenPlan();
  plan.mutable_subject()->set_model("<script>alert('\"&')</script>\xff");
  v1::Timeline timeline = Simulated(Schedule::kOneFOneB, 1, 4);
  timeline.set_schedule_name("<b>");
  timeline.mutable_stages(0)->mutable_memory()->mutable_peak_parts(0)->set_name("<i>\"");
  const std::string html = PipelineReport(plan, timeline);
  EXPECT_EQ(NestingFault(html), "");
  for (const char* tag : {"<script", "<b>", "<i>"}) EXPECT_EQ(CountOf(html, tag), 0u) << tag;
  EXPECT_FALSE(nlohmann::json::parse(ChromeTrace(plan, timeline)).empty());
}

// Every pass is a separate mark if there is room. All windows together show it at least once.
TEST(PipelinePictureTest, DrawsEveryPass) {
  const v1::Timeline timeline = Simulated(Schedule::kOneFOneB, 1, 12);
  const std::vector<Window> windows = PictureWindows(timeline);
  ASSERT_EQ(windows.size(), 1u);
  const std::string svg = PipelinePicture(timeline, windows[0]);
  EXPECT_EQ(CountOf(svg, "<title>forward of pack"), 4u * 12);
  EXPECT_EQ(CountOf(svg, "<title>backward of pack"), 4u * 12);
  EXPECT_EQ(CountOf(svg, "<title>recompute of pack"), 2u * 12);
  EXPECT_EQ(CountOf(svg, "class=\"pack\""), 4u * 24);
}

TEST(PipelinePictureTest, NarrowPassesBecomeSharesAndTheEndsAreShownAgain) {
  const v1::Timeline timeline = Simulated(Schedule::kOneFOneB, 1, 900);
  const std::vector<Window> windows = PictureWindows(timeline);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[1].from_seconds, 0);
  EXPECT_EQ(windows[2].to_seconds, timeline.step_seconds());
  EXPECT_TRUE(DrawsShares(timeline, windows[0]));
  EXPECT_FALSE(DrawsShares(timeline, windows[1]));
  EXPECT_EQ(CountOf(PipelinePicture(timeline, windows[0]), "<title>forward of pack"), 0u);
  EXPECT_GT(CountOf(PipelinePicture(timeline, windows[1]), "<title>forward of pack 0:"), 0u);
  EXPECT_GT(CountOf(PipelinePicture(timeline, windows[2]), "<title>backward of pack 899:"), 0u);
}

TEST(StageChartsTest, PeaksComeFromTheSimulationWhereThereIsOne) {
  const v1::Plan plan = GoldenPlan();
  const std::vector<StagePeak> planned = StagePeaks(plan, v1::Timeline());
  ASSERT_EQ(planned.size(), 4u);
  int64_t sum = 0;
  for (const auto& [name, bytes] : planned[0].parts) sum += bytes;
  EXPECT_EQ(sum, plan.stages(0).memory().total_bytes());
  EXPECT_EQ(planned[0].parts[0].second, plan.stages(0).memory().weights_bytes());
  EXPECT_EQ(planned[0].moment, "");
  const std::vector<StagePeak> simulated = StagePeaks(plan, Simulated(Schedule::kOneFOneB, 1, 12));
  EXPECT_EQ(simulated[0].parts.size(), 3u);
  EXPECT_NE(simulated[0].moment.find("backward of pack 0"), std::string::npos);
  EXPECT_EQ(simulated[0].capacity_bytes, plan.stages(0).capacity_bytes());
}

TEST(StageChartsTest, RanksOnlyWhereTheyDiffer) {
  EXPECT_EQ(RankChart(Simulated(Schedule::kOneFOneB, 1, 4)), "");
  const v1::Timeline timeline = Simulated(Schedule::kOneFOneB, 1, 4, 600);
  const std::string svg = RankChart(timeline);
  EXPECT_EQ(CountOf(svg, "<title>rank "), 256u);
  // If many operations share a place, the slowest is shown.
  EXPECT_EQ(CountOf(svg, "class=\"sync\""), 1u);
}

TEST(TimelineTest, WhatIsNotWellFormedIsNotDrawn) {
  v1::Timeline timeline = Simulated(Schedule::kOneFOneB, 1, 4);
  timeline.mutable_stages(2)->mutable_operations()->add_packs(3);
  EXPECT_EQ(ChromeTrace(GoldenPlan(), timeline), "");
  EXPECT_EQ(PipelineReport(GoldenPlan(), timeline), "");
  // If nothing was simulated or planned, the result is still a page.
  EXPECT_EQ(NestingFault(PipelineReport(v1::Plan(), v1::Timeline())), "");
}

}  // namespace
}  // namespace evenkeel::cli
