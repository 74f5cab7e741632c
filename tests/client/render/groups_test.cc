// Tests how packing groups of a plan are shown in the terminal.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "client/cli/render/plan.h"
#include "tests/client/groups.h"
#include "tests/client/timelines.h"

namespace evenkeel::cli {
namespace {

const Style kGroupsStyle = {.width = 100, .unicode = true, .color = false};

// Returns the line that begins with `start`, with each run of blanks replaced by one; "" if there
// is no such line.
std::string Line(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    if (joined.rfind(start, 0) == 0) return joined;
  }
  return "";
}

TEST(RenderGroupsTest, HasGroupsAndHowTheyWereChosen) {
  const std::string text = RenderGroups(kGroupsStyle, GroupedPlan());
  EXPECT_EQ(Line(text, "16,384"), "16,384 1 64 30 32,000 500 50.0% 7.52 s 0.26%");
  EXPECT_EQ(Line(text, "131,072"), "131,072 8 8 30 4,000 500 50.0% 7.52 s 0.26%");
  EXPECT_EQ(
      Line(text, "chosen"),
      "chosen by HBP's rule; 16 sets of the lengths 16,384, 131,072 were compared over all splits");
  EXPECT_EQ(Line(text, "HBP's rule"),
            "HBP's rule {16,384; 131,072} on {1; 8} GPUs per pack: 2.00 GPU-days with mean "
            "packs");
  EXPECT_EQ(Line(text, "least epoch"),
            "least epoch {131,072} on {32} GPUs per pack: 1.50 GPU-days, 25.0% less");
  EXPECT_EQ(Line(text, "curriculum"), "curriculum the first 171 steps run the shortest group");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100) << line;
}

TEST(RenderGroupsTest, TheBestSetIsSaidToBe) {
  v1::Plan plan = GroupedPlan();
  v1::GroupChoice* choice = plan.mutable_group_choice();
  *choice->mutable_exact_lengths() = choice->published_lengths();
  *choice->mutable_exact_sequence_parallel() = choice->published_sequence_parallel();
  EXPECT_EQ(Line(RenderGroups(kGroupsStyle, plan), "chosen"),
            "chosen the best of 16 sets of the lengths 16,384, 131,072, over all splits");
}

TEST(RenderGroupsTest, SaysWhereThePublishedRuleFindsNothing) {
  v1::Plan plan = GroupedPlan();
  plan.mutable_group_choice()->clear_published_lengths();
  plan.mutable_group_choice()->clear_published_sequence_parallel();
  plan.mutable_group_choice()->clear_published_gpu_days();
  plan.mutable_group_choice()->clear_curriculum_steps();
  const std::string text = RenderGroups(kGroupsStyle, plan);
  EXPECT_EQ(Line(text, "HBP's rule"), "HBP's rule finds no groups that fit");
  EXPECT_EQ(Line(text, "least epoch"),
            "least epoch {131,072} on {32} GPUs per pack: 1.50 GPU-days");
  EXPECT_EQ(Line(text, "curriculum"), "curriculum none");
}

TEST(RenderGroupsTest, OtherWaysStandAgainstThePlan) {
  const std::string text = RenderBatchingMethods(kGroupsStyle, GroupedPlan());
  const std::string figures = "1.1% 1.4% 3.7% 17.7% ████████";
  EXPECT_EQ(Line(text, "sorted by"), "sorted by length (LongAlign) 4.00 100.0% " + figures);
  EXPECT_EQ(Line(text, "FlexSP"), "FlexSP's assignment no fit - - - - -");
  EXPECT_EQ(Line(text, "this plan"), "this plan 2.00 - 1.1% 1.4% 3.7% 17.7% ████");
}

TEST(RenderGroupsTest, NothingWithoutGroups) {
  EXPECT_EQ(RenderGroups(kGroupsStyle, GoldenPlan()), "");
  EXPECT_EQ(RenderBatchingMethods(kGroupsStyle, GoldenPlan()), "");
}

}  // namespace
}  // namespace evenkeel::cli
