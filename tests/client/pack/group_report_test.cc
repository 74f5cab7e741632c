// Tests that reports with packing groups are well-formed and have the figures of the groups.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/dataset/packed_dataset.h"
#include "client/cli/pack/compare.h"
#include "client/cli/pack/report_data.h"
#include "client/cli/pack/report_page.h"
#include "client/cli/timeline/pipeline_report.h"
#include "tests/client/groups.h"
#include "tests/client/html.h"
#include "tests/client/timelines.h"

namespace evenkeel::cli {
namespace {

ReportData Data(const SmallPacking& small) {
  Progress progress("report");
  return MakeReportData(small.packed, small.samples, small.start, &progress);
}

std::string GroupReport(const SmallPacking& small) {
  return RenderReport(Data(small), small.packed.summary, small.start, small.samples);
}

void ExpectSound(const std::string& html) {
  EXPECT_EQ(NestingFault(html), "");
  for (const char* outside : {"src=", "href=", "@import", "<script", "<link", "url("})
    EXPECT_EQ(CountOf(html, outside), 0u) << outside;
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("\"inf"), std::string::npos);
}

void ExpectHas(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(GroupReportTest, ThePackingIsWhatItSays) {
  const SmallPacking small = GroupedPacking();
  EXPECT_EQ(FaultsOf(small.packed, small.samples, small.start), std::vector<std::string>());
}

TEST(GroupReportTest, HasGroupsStepsAndCurriculum) {
  const std::string html = GroupReport(GroupedPacking());
  ExpectSound(html);
  ExpectHas(html,
            {"7 samples of a.json, b.json, in 2 packing groups", "<span class=\"key group-0\">10<",
             "<span class=\"key group-1\">40<", "packs of 10", "packs of 40", "One group",
             "ISF to 40 tokens", "random order", "balanced, window all",
             "curriculum: the first 1 steps", "first 1 of 3 steps", "(CR) 0.5714"});
  // Two show packs, four show what ranks wait for, and one shows steps by group.
  EXPECT_EQ(CountOf(html, "<svg "), 7u);
  // The holed step has no dot.
  EXPECT_EQ(CountOf(html, "class=\"dot group-0\""), 1u);
  EXPECT_EQ(CountOf(html, "class=\"dot group-1\""), 1u);
}

TEST(GroupReportTest, CasesAreOneGroupRandomOrderAndThePacking) {
  const ReportData data = Data(GroupedPacking());
  ASSERT_EQ(data.cases.size(), 3u);
  // 98 tokens are in packs of at most 40, in whole steps of two packs.
  EXPECT_EQ(data.cases[0].packs.size(), 4u);
  EXPECT_DOUBLE_EQ(data.cases[0].communication_ratio, 1);
  EXPECT_EQ(data.cases[1].packs.size(), 5u);
  const ReportCase& ours = data.cases[2];
  // The ranks have 30 and 20 + 20 tokens, with squares of 900 and 800.
  ASSERT_EQ(ours.language_steps.size(), 2u);
  EXPECT_DOUBLE_EQ(ours.language_steps[0], 0);
  EXPECT_DOUBLE_EQ(ours.language_steps[1], 1 - 70.0 / 80);
  EXPECT_DOUBLE_EQ(ours.attention_steps[1], 1 - 1700.0 / 1800);
  EXPECT_EQ(ours.balance.steps, 3);
  EXPECT_EQ(ours.balance.holed_steps, 1);
  EXPECT_DOUBLE_EQ(ours.balance.mean_rank_tokens, (10 + 35) / 2.0);
}

TEST(GroupReportTest, ARandomOrderIsNotComparedWithItself) {
  SmallPacking small = GroupedPacking();
  small.packed.summary.mutable_rule()->set_order_window(1);
  EXPECT_EQ(Data(small).cases.size(), 2u);
  ExpectSound(GroupReport(small));
}

TEST(GroupReportTest, ComparisonHasPackersAndWindows) {
  const SmallPacking small = GroupedPacking();
  const std::string text = RenderGroupComparison({.width = 100, .unicode = true, .color = false},
                                                 small.packed.summary, small.samples, small.start);
  ExpectHas(text,
            {"one group, isf, window 1", "next-fit, window 1", "isf, window 1",
             "balanced, window 1 ", "balanced, window 16", "balanced, window all", "this packing"});
}

TEST(GroupReportTest, ThePlansReportHasItsGroups) {
  const v1::Plan plan = GroupedPlan();
  const v1::Timeline timeline =
      TimelineOf(plan, PipelineOf(plan, planner::Schedule::kOneFOneB, 1, 2), 1);
  const std::string html = PipelineReport(plan, timeline);
  ExpectSound(html);
  ExpectHas(html, {"Of 2 packing groups, pictures and stages show one step of the longest: packs "
                   "of 131,072 tokens",
                   "The pipeline, a step of the longest group", "its mean is 7.52 s",
                   "<th scope=\"row\">16,384</th><td>1</td><td>64</td>", "by HBP's rule; 16 sets",
                   "sorted by length (LongAlign)", "no fit",
                   "the first 171 steps run the shortest group"});
  const std::string without = PipelineReport(GoldenPlan(), timeline);
  EXPECT_EQ(without.find("longest group"), std::string::npos);
  EXPECT_EQ(without.find("Packing groups"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::cli
