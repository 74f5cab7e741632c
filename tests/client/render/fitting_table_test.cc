#include "client/cli/render/fitting_table.h"

#include <gtest/gtest.h>

#include <string>

#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

TEST(FittingTableTest, LeavesColumnsOutBeforeItCutsNames) {
  FittingTable table({{"name", Align::kLeft},
                      {"kind", Align::kLeft, 2},
                      {"aliases", Align::kLeft, 1, /*wrap=*/true}});
  table.Add({"a-long-name", "kind-of-it", "first-alias, second-alias, third-alias"});
  const auto text = [&](int width) { return table.Render({.width = width}); };
  const auto has = [&](int width, const std::string& part) {
    return text(width).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(200, "first-alias, second-alias, third-alias"));
  EXPECT_EQ(table.LeftOut({.width = 200}), "");
  EXPECT_TRUE(has(52, "first-alias, second-alias,\n")) << text(52);  // broken, not cut
  EXPECT_FALSE(has(30, "aliases"));
  EXPECT_TRUE(has(30, "kind-of-it"));
  EXPECT_EQ(table.LeftOut({.width = 30}), "Left out for lack of room (--width): aliases.");
  EXPECT_FALSE(has(20, "kind"));
  EXPECT_TRUE(has(5, "a-long-name"));
}

TEST(WordsTest, CountsAreSingularOrPlural) {
  EXPECT_EQ(Counted(1, "GPU"), "1 GPU");
  EXPECT_EQ(Counted(0, "GPU"), "0 GPUs");
  EXPECT_EQ(Counted(1200, "micro-batch"), "1,200 micro-batches");
  EXPECT_EQ(CountedMean(1, "sample"), "1 sample");
  EXPECT_EQ(CountedMean(6.88, "sample"), "6.88 samples");
  EXPECT_EQ(WithThousands("of 6116 units and 12032 tokens; 40941, 999"),
            "of 6,116 units and 12,032 tokens; 40,941, 999");
  EXPECT_EQ(WithThousands("h100-80000gb v1.2500"), "h100-80000gb v1.2500");
}

}  // namespace
}  // namespace evenkeel::cli
