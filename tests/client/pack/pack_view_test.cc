#include "client/cli/pack/pack_view.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/client/packs.h"

namespace evenkeel::cli {
namespace {

class PackViewTest : public testing::Test {
 protected:
  PackView View() const {
    return ViewOf(flags_, planned_, small_.samples, small_.start, small_.packed.summary);
  }
  v1::BatchRule* rule() { return small_.packed.summary.mutable_rule(); }
  std::string CapsText() const {
    const v1::BatchRule rule = View().summary.rule();
    return (rule.caps_derived() ? "derived: " : "given: ") + rule.caps_reason();
  }
  // Packs for 300 ranks with one pack each.
  void Deal(int64_t packs, int64_t steps, int64_t holed) {
    rule()->set_pack_count(packs);
    rule()->set_oversize_sample_count(0);
    small_.start.set_data_parallel(300);
    small_.start.set_packs_per_rank(1);
    small_.packed.summary.set_step_count(steps);
    small_.packed.summary.set_holed_step_count(holed);
  }

  PackFlags flags_;
  PlannedPacking planned_;
  SmallPacking small_;
};

TEST_F(PackViewTest, RanksWithoutPacksAreMentioned) {
  Deal(60, 1, 1);
  EXPECT_EQ(View().notes,
            (std::vector<std::string>{
                "60 packs for 300 ranks: 80.0% of the ranks have no pack, and run a zero-weight "
                "dummy. Use --dp 60 or fewer"}));
  Deal(450, 2, 1);
  EXPECT_EQ(View().notes, (std::vector<std::string>{
                              "in the last of 2 steps, 50.0% of the ranks have no pack, and run a "
                              "zero-weight dummy. \"Balance over ranks\" leaves this step out"}));
  Deal(600, 2, 0);
  EXPECT_TRUE(View().notes.empty());
  Deal(300 * 99 + 150, 100, 1);  // .5% of all
  EXPECT_TRUE(View().notes.empty());
}

// Samples 3 and 6, with 9 and 0 units, 10 and 99 tokens, are alone in two of the six packs.
TEST_F(PackViewTest, TheMeanPackLeavesOutOversizeSamples) {
  rule()->set_mean_units(15 / 6.0);
  rule()->set_mean_tokens(179 / 6.0);
  const PackView view = View();
  EXPECT_DOUBLE_EQ(view.summary.rule().mean_units(), 6 / 4.0);
  EXPECT_DOUBLE_EQ(view.summary.rule().mean_tokens(), 70 / 4.0);
  EXPECT_DOUBLE_EQ(view.summary.rule().samples_per_pack(), 5 / 4.0);
  ASSERT_EQ(view.notes.size(), 1u);
  EXPECT_EQ(view.notes[0],
            "the mean pack, and the share that packs fill, leave out packs of samples that exceed "
            "a cap");
  small_.packed.summary.set_rejected_sample_count(2);  // then they are in no pack
  EXPECT_DOUBLE_EQ(View().summary.rule().mean_tokens(), 179 / 6.0);
  EXPECT_TRUE(View().notes.empty());
}

TEST_F(PackViewTest, SaysWhereCapsComeFrom) {
  rule()->set_caps_derived(true);
  rule()->set_caps_reason("the longest sample decides");
  EXPECT_EQ(CapsText(), "derived: the longest sample decides");
  flags_.unit_cap = 4;
  EXPECT_EQ(CapsText(),
            "given: --unit-cap as given; the token cap derived from the data: the longest sample "
            "decides");
  planned_.rule = small_.start.rule();
  flags_.rule_file = "plan.json";
  EXPECT_EQ(CapsText(), "given: --unit-cap as given; the token cap of the rule in plan.json");
  flags_.unit_cap.reset();
  EXPECT_EQ(CapsText(), "given: the rule in plan.json has these caps");
  flags_.rule_file.clear();
  flags_.plan_id = "plan-1";
  EXPECT_EQ(CapsText(), "given: the rule of plan-1 has these caps");
}

TEST_F(PackViewTest, ACapOfWhatNoSampleHasIsMentioned) {
  small_.samples.units.assign(7, 0);
  rule()->set_oversize_sample_count(0);
  rule()->set_unit_cap(0);
  rule()->set_caps_derived(true);
  rule()->set_caps_reason("the longest sample decides");
  flags_.unit_cap = 3;
  EXPECT_EQ(View().notes,
            (std::vector<std::string>{"no sample has units, so --unit-cap has no effect"}));
  EXPECT_EQ(CapsText(), "derived: the longest sample decides");
}

}  // namespace
}  // namespace evenkeel::cli
