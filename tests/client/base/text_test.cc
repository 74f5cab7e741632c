#include "client/cli/base/text.h"

#include <gtest/gtest.h>

namespace evenkeel::cli {
namespace {

TEST(TextTest, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("─█"), 2);
  EXPECT_EQ(DisplayWidth("模型"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("\x1b[31mred\x1b[0m"), 3);
  EXPECT_EQ(DisplayWidth("\xff\xc3"), 2);  // each invalid byte counts as one
}

TEST(TextTest, ShortenKeepsTheWidth) {
  EXPECT_EQ(Shorten({}, "abcdef", 6), "abcdef");
  EXPECT_EQ(Shorten({}, "abcdef", 4), "abc…");
  EXPECT_EQ(Shorten({.unicode = false}, "abcdef", 4), "ab..");
}

TEST(TextTest, ListsEndWithOr) {
  EXPECT_EQ(Listed({}), "");
  EXPECT_EQ(Listed({"a"}), "a");
  EXPECT_EQ(Listed({"a", "b", "c"}), "a, b or c");
}

TEST(TextTest, WrapBreaksAtBlanksOnly) {
  EXPECT_EQ(Wrap("aa bb  cc", 5), (std::vector<std::string>{"aa bb", "cc"}));
  EXPECT_EQ(Wrap("unbreakable", 4), (std::vector<std::string>{"unbreakable"}));
  EXPECT_EQ(Wrap("", 4), (std::vector<std::string>{""}));
}

TEST(TextTest, FoldBreaksWordsAfterMarksAndLosesNothing) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(Fold("zero_optimization.offload_optimizer.device", 26),
            (Lines{"zero_optimization.offload_", "optimizer.device"}));
  EXPECT_EQ(Fold("zero_optimization.stage", 23), (Lines{"zero_optimization.stage"}));
  EXPECT_EQ(Fold("aa bb-cc dd", 4), (Lines{"aa", "bb-", "cc", "dd"}));
  EXPECT_EQ(Fold("unbreakable", 4), (Lines{"unbr", "eaka", "ble"}));
  EXPECT_EQ(Fold("HuggingFaceTokenizer", 12), (Lines{"HuggingFace", "Tokenizer"}));
  EXPECT_EQ(Fold("模型模型", 5), (Lines{"模型", "模型"}));
  EXPECT_EQ(Fold("模", 1), (Lines{"模"}));
  EXPECT_EQ(Fold("", 4), (Lines{""}));
}

TEST(TextTest, NumbersAreForPeople) {
  EXPECT_EQ(Integer(0), "0");
  EXPECT_EQ(Integer(999), "999");
  EXPECT_EQ(Integer(-1234567), "-1,234,567");
  EXPECT_EQ(Decimal(1234.56, 1), "1,234.6");
  EXPECT_EQ(Significant(0), "0");
  EXPECT_EQ(Significant(1234.5), "1,234");
  EXPECT_EQ(Significant(12.34), "12.3");
  EXPECT_EQ(Significant(9.996), "10.0");
  EXPECT_EQ(Significant(0.01234), "0.0123");
  EXPECT_EQ(Significant(0.0001234), "0.000123");
  EXPECT_EQ(Significant(0.00000123), "1.23e-06");
  EXPECT_EQ(GpuTime(12.5), "12.5 GPU-days");
  EXPECT_EQ(GpuTime(0.005), "0.120 GPU-hours");
  EXPECT_EQ(GpuTime(0.001), "1.44 GPU-minutes");
  EXPECT_EQ(GpuTime(1e-9), "8.64e-05 GPU-seconds");
  EXPECT_EQ(GpuTime(0), "0 GPU-days");
  EXPECT_EQ(Gib(int64_t{80} << 30), "80.0");
  EXPECT_EQ(Bytes(512), "512 B");
  EXPECT_EQ(Bytes(int64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(Percent(0.481), "48.1%");
  EXPECT_EQ(Percent(0.00018), "0.018%");
  EXPECT_EQ(Percent(1e-9), "<0.001%");
  EXPECT_EQ(BigCount(25.5e9), "25.5 B");
  EXPECT_EQ(BigCount(304e6), "304 M");
  EXPECT_EQ(ByteRate(12.5e9), "12.5 GB/s");
}

TEST(TextTest, DurationsChooseTheirUnit) {
  EXPECT_EQ(Duration(0), "0 s");
  EXPECT_EQ(Duration(42e-6), "42.0 us");
  EXPECT_EQ(Duration(0.0123), "12.3 ms");
  EXPECT_EQ(Duration(4.567), "4.57 s");
  EXPECT_EQ(Duration(192), "3 min 12 s");
  EXPECT_EQ(Duration(5.2 * 3600), "5.2 h");
  EXPECT_EQ(Duration(3.1 * 86400), "3.1 days");
}

TEST(TextTest, BarsTakeTheirWidthAndShowWhateverIsAboveZero) {
  const Style ascii{.unicode = false};
  EXPECT_EQ(Bar(ascii, 0.5, 4), "##  ");
  EXPECT_EQ(Bar(ascii, 1e-9, 4), "#   ");
  EXPECT_EQ(Bar(ascii, 0, 4), "    ");
  EXPECT_EQ(Bar({}, 0.5, 3), "█▌ ");
  EXPECT_EQ(Bar({}, 7, 3), "███");
  EXPECT_EQ(Gauge(ascii, 0.999, 4), "###.");
  EXPECT_EQ(Gauge({}, 1, 4), "████");
}

TEST(TextTest, TextFromElsewhereCannotSteerTheTerminal) {
  EXPECT_EQ(Plain({}, "a\x1b[2Jb\nc\u009b"), "a\\u001b[2Jb c\\u009b");
  EXPECT_EQ(Plain({.unicode = false}, "2 × 3 — ü"), "2 x 3 - ?");
}

}  // namespace
}  // namespace evenkeel::cli
