#include "client/cli/render/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

Style Narrow() { return {.width = 100, .unicode = false, .color = false}; }

// Returns the server's own golden answer, so that both sides are tested on the same form.
std::string Golden() {
  std::ifstream file(EVENKEEL_SOURCE_DIR "/tests/server/admin/golden/statusz.json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(RenderStatusTest, SaysWhatTheServerSays) {
  const std::string text = RenderStatus(Narrow(), Golden());
  EXPECT_THAT(text, HasSubstr("evenkeel-server 1.2.3  SERVING\n"));
  EXPECT_THAT(text, ContainsRegex("  Workers busy +2 of 4\n"));
  EXPECT_THAT(text, HasSubstr("(expires in 30 d 0 h)"));
  EXPECT_THAT(text, HasSubstr("plan-1  internvl-chat-v1.5"));
  EXPECT_THAT(text, Not(HasSubstr("Needs attention")));
}

TEST(RenderStatusTest, FaultsComeFirstAndEscapesStayText) {
  const std::string row =
      R"({"name": "Queue\u001b[2J", "value": "64 of 64", "note": "more workers", "mark": "bad"})";
  const std::string json = R"({"title": "t", "summary": "s", "health": )" + row +
                           R"(, "attention": [)" + row + R"(], "sections": [], "tables": []})";
  const std::string text = RenderStatus(Narrow(), json);
  EXPECT_THAT(text, HasSubstr("Needs attention"));
  EXPECT_THAT(text, HasSubstr("Queue\\u001b[2J  64 of 64 (more workers)"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(RenderStatusTest, AnythingElseIsAnError) {
  for (const char* json : {"", "<html>", "{}", "[]", R"({"title": 1})"}) {
    EXPECT_THROW(RenderStatus(Narrow(), json), CommandError) << json;
  }
}

}  // namespace
}  // namespace evenkeel::cli
