// Tests that the report of `pack` is well-formed and self-contained and has the right figures.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/pack/report_charts.h"
#include "client/cli/pack/report_data.h"
#include "client/cli/pack/report_page.h"
#include "client/cli/report/svg.h"
#include "tests/client/html.h"
#include "tests/client/packs.h"

namespace evenkeel::cli {
namespace {

std::string Report(const SmallPacking& small) {
  Progress progress("report");
  const ReportData data = MakeReportData(small.packed, small.samples, small.start, &progress);
  return RenderReport(data, small.packed.summary, small.start, small.samples);
}

TEST(PackReportTest, IsWellFormedAndHoldsEverythingItself) {
  const std::string html = Report(SmallPacking());
  EXPECT_EQ(NestingFault(html), "");
  for (const char* outside : {"src=", "href=", "@import", "<script", "<link", "url("}) {
    EXPECT_EQ(CountOf(html, outside), 0u) << outside;
  }
  EXPECT_EQ(CountOf(html, "http"), CountOf(html, "http://www.w3.org/2000/svg"));
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
}

TEST(PackReportTest, HasChartsAndFigures) {
  const std::string html = Report(SmallPacking());
  EXPECT_EQ(CountOf(html, "<svg "), 6u);
  EXPECT_EQ(CountOf(html, "<tr>"), 2 + 3u);
  for (const char* part : {"7 samples of a.json, b.json", "at most 4 units and 20 tokens",
                           "2 ranks with 2 packs each", "Random micro-batches", "ISF",
                           "This packing", "cap 20", "By index: 3, 6.", "proven by volume"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

TEST(PackReportTest, TextAloneHasAttentionInPlaceOfUnits) {
  SmallPacking small;
  small.samples.units.assign(7, 0);
  small.start.mutable_rule()->set_unit_cap(0);
  small.packed.summary.mutable_rule()->set_unit_cap(0);
  const std::string html = Report(small);
  EXPECT_EQ(NestingFault(html), "");
  EXPECT_EQ(CountOf(html, "<svg "), 6u);
  EXPECT_EQ(html.find("units per micro-batch"), std::string::npos);
  EXPECT_NE(html.find("squared tokens per micro-batch"), std::string::npos);
}

TEST(PackReportTest, IsfIsNotComparedWithItself) {
  SmallPacking small;
  small.packed.summary.mutable_rule()->set_packer(v1::PACKER_ISF);
  EXPECT_EQ(CountOf(Report(small), "<tr>"), 2 + 2u);
}

TEST(PackReportTest, NothingPackedIsStillAReport) {
  SmallPacking small;
  small.packed.offsets = {0};
  small.packed.members.clear();
  small.packed.order.clear();
  small.start.mutable_rule()->set_oversize_policy(v1::OVERSIZE_POLICY_REJECT);
  const std::string html = Report(small);
  EXPECT_EQ(NestingFault(html), "");
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(PackReportTest, NamesOfFilesCannotBreakOut) {
  SmallPacking small;
  small.samples.parts[0].path = "x/<b>&\"lengths\".json";
  const std::string html = Report(small);
  EXPECT_EQ(NestingFault(html), "");
  EXPECT_NE(html.find("&lt;b&gt;&amp;&quot;lengths&quot;.json"), std::string::npos);
}

TEST(ReportDataTest, MeasuresStepsAndCases) {
  const SmallPacking small;
  Progress progress("report");
  const ReportData data = MakeReportData(small.packed, small.samples, small.start, &progress);
  ASSERT_EQ(data.cases.size(), 3u);
  const ReportCase& random = data.cases[0];
  EXPECT_EQ(random.packs.size(), 6u);
  EXPECT_DOUBLE_EQ(random.samples_per_pack, 7.0 / 6);
  const ReportCase& ours = data.cases[2];
  // Step 0 has ranks of 99 + 10 and 10 + 20 tokens, and step 1 of 20 and 20.
  ASSERT_EQ(ours.language_steps.size(), 2u);
  EXPECT_DOUBLE_EQ(ours.language_steps[0], 1 - (109.0 + 30) / (2 * 109));
  EXPECT_DOUBLE_EQ(ours.language_steps[1], 0);
  EXPECT_EQ(ours.over_caps, 0);
  // Packs {0, 1}, {2}, {4} and {5} fit the caps.
  EXPECT_DOUBLE_EQ(ours.token_fill, (20 + 10 + 20 + 20) / 80.0);
}

TEST(SvgTest, TicksAreRoundAndCoverTheRange) {
  EXPECT_EQ(RoundTicks(0, 4416, 8), (std::vector<double>{0, 1000, 2000, 3000, 4000, 5000}));
  EXPECT_EQ(RoundTicks(0, 9, 8).size(), 6u);
  EXPECT_GE(RoundTicks(0, 0, 4).size(), 2u);
}

TEST(PackChartTest, OneGiantDoesNotSqueezeTheOthers) {
  std::vector<int64_t> values(1000, 50);
  values.push_back(1'000'000);
  const std::string chart = PackChart("tokens", {{"all", "ours", values}}, 64);
  EXPECT_NE(chart.find("1 beyond the axis"), std::string::npos);
  EXPECT_NE(chart.find("cap 64"), std::string::npos);
  EXPECT_EQ(chart.find("1,000,000<"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::cli
