// Tests the check of an answer before it is written, and how the answer is shown.
#include "client/cli/dataset/packed_dataset.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "client/cli/render/pack.h"
#include "tests/client/packs.h"

namespace evenkeel::cli {
namespace {

std::string FirstFault(const SmallPacking& small) {
  const auto faults = FaultsOf(small.packed, small.samples, small.start);
  return faults.empty() ? "none" : faults[0];
}

TEST(FaultsOfTest, FindsNoneInAWholePacking) { EXPECT_EQ(FirstFault(SmallPacking()), "none"); }

TEST(FaultsOfTest, FindsWhatIsWrong) {
  SmallPacking twice;
  twice.packed.members[2] = 0;
  EXPECT_EQ(FirstFault(twice), "sample 0 comes twice");
  SmallPacking strange;
  strange.packed.members[2] = 7;
  EXPECT_EQ(FirstFault(strange), "sample 7 does not exist");
  SmallPacking lost;
  lost.packed.members.pop_back();
  lost.packed.offsets.pop_back();
  EXPECT_EQ(FirstFault(lost), "sample 6 is in no pack");
  SmallPacking full;
  full.packed.offsets = {0, 3, 4, 5, 6, 7};
  EXPECT_EQ(FirstFault(full), "pack 0 exceeds a cap");
  SmallPacking empty;
  empty.packed.offsets = {0, 2, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(FirstFault(empty), "pack 1 is empty");
  SmallPacking torn;
  torn.packed.offsets.back() = 6;
  EXPECT_EQ(FirstFault(torn), "the sizes of the packs and their samples do not go together");
}

TEST(FaultsOfTest, FindsWhatIsWrongWithTheOrder) {
  SmallPacking twice;
  twice.packed.order[5] = 0;
  EXPECT_EQ(FirstFault(twice), "the order has pack 0 twice");
  SmallPacking strange;
  strange.packed.order[5] = 6;
  EXPECT_EQ(FirstFault(strange), "the order has pack 6 which does not exist");
  SmallPacking lost;
  lost.packed.order[0] = -1;
  EXPECT_EQ(FirstFault(lost), "the order leaves out packs");
  SmallPacking shorter;
  shorter.packed.order.pop_back();
  EXPECT_EQ(FirstFault(shorter), "the order does not have as many entries as its steps");
}

TEST(FaultsOfTest, RejectedSamplesAreInNoPack) {
  SmallPacking small;
  small.start.mutable_rule()->set_oversize_policy(v1::OVERSIZE_POLICY_REJECT);
  EXPECT_EQ(FirstFault(small), "sample 3 is in a pack");
}

TEST(RenderPackTest, SaysWhatCameOfItWithinTheWidth) {
  SmallPacking small;
  Style style;
  style.width = 70;
  style.unicode = false;
  const PackOrigin origin = {"this process", {"out: packs"}, {"a remark"}, true};
  const std::string text = RenderPack(style, small.packed.summary, small.start, origin);
  for (const char* part :
       {"7 samples in 6 packs", "No packing under these caps has fewer packs", "volume",
        "2 samples exceed a cap on their", "index", "3, 6.", "note: a remark.",
        "at most 4 units, 20 tokens", "balanced", "2 steps of 2 ranks x 2 packs", "fully random",
        "vision (units)", "language (tokens)", "out: packs"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 70) << line;
}

TEST(RenderPackTest, SaysHowFarTheBoundIs) {
  SmallPacking small;
  small.packed.summary.mutable_rule()->set_pack_count_lower_bound(5);
  const std::string text = RenderPack(Style(), small.packed.summary, small.start, {});
  EXPECT_NE(text.find("At least 5 packs are needed (proven by volume): this is 20.0% above."),
            std::string::npos)
      << text;
}

TEST(RenderPackTest, SaysWhatLevelByTimeGainsOrMayGain) {
  SmallPacking small;
  v1::BatchRule& rule = *small.packed.summary.mutable_rule();
  rule.set_idle_ratio(.02);
  rule.mutable_pack_times()->set_language_seconds_per_squared_token(1e-9);
  const auto text = [&] { return RenderPack(Style(), small.packed.summary, small.start, {}); };
  EXPECT_EQ(text().find("--level time"), std::string::npos) << "the times are not the request's";
  *small.start.mutable_rule()->mutable_pack_times() = rule.pack_times();
  EXPECT_NE(text().find("`--level time --window auto`"), std::string::npos);
  rule.set_level(v1::PACK_LEVEL_TIME);
  rule.set_order_gap_ratio(.05);
  small.packed.summary.set_idle_ratio_by_tokens(.3);
  EXPECT_EQ(text().find("--level time"), std::string::npos);
  EXPECT_NE(text().find("By tokens, 30.0% would be lost."), std::string::npos) << text();
  EXPECT_NE(text().find("5.0%"), std::string::npos) << text();
}

}  // namespace
}  // namespace evenkeel::cli
