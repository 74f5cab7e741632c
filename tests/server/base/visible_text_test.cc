#include "server/base/visible_text.h"

#include <gtest/gtest.h>

#include "server/convert/checks.h"
#include "server/convert/violations.h"
#include "tests/hidden_texts.h"

namespace evenkeel::server {
namespace {

TEST(VisibleTextTest, WritesOutWhatIsHidden) {
  EXPECT_EQ(Visible("a\u202eb"), "a\\u202eb");
  EXPECT_EQ(Visible("\x1b[2J\n"), "\\u001b[2J\\u000a");
  EXPECT_EQ(Visible("\u0085\u2028\u2029\U000e0041"), "\\u0085\\u2028\\u2029\\udb40\\udc41");
  EXPECT_EQ(Visible("a\n\tb\r", "\n\t"), "a\n\tb\\u000d");
  for (const std::string& text : HiddenTexts()) {
    EXPECT_TRUE(IsHidden(FirstCodePoint(text).code)) << Visible(text);
    EXPECT_EQ(FirstHidden(Visible("x" + text + "y")), "");
  }
}

TEST(VisibleTextTest, LeavesTheRestAlone) {
  for (const char* text : {"", "llama3-8b", "größe 模型 モデル نموذج 🙂 × — …",
                           "a\\u202eb", "~ !"}) {
    EXPECT_EQ(Visible(text), text);
  }
}

TEST(VisibleTextTest, BytesThatAreNoUtf8) {
  EXPECT_EQ(Visible("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(Visible("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"),
            "\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");  // overlong, surrogate, too large
  EXPECT_EQ(Visible("\xe2\x80"), "\\xe2\\x80");
}

TEST(VisibleTextTest, ErrorsOfRequestsShowNothingHidden) {
  EXPECT_EQ(FirstHidden(Quoted(AllHiddenTexts().substr(0, 60))), "");
  ViolationSink sink(10);
  sink.Add(FieldPath("job"), "is " + AllHiddenTexts());
  EXPECT_EQ(FirstHidden(sink.Take()[0].description), "");
}

}  // namespace
}  // namespace evenkeel::server
