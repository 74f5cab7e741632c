// Tests every place in which evenkeelctl shows a caller's text: no hidden character stays hidden.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "client/cli/base/output_file.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/base/text.h"
#include "client/cli/commands/global_options.h"
#include "client/cli/launch/yaml.h"
#include "client/cli/report/page.h"
#include "client/cli/report/svg.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "tests/hidden_texts.h"

namespace evenkeel::cli {
namespace {

const std::string kText = AllHiddenTexts();

TEST(HiddenTextTest, IsEscapedOnTheTerminal) {
  EXPECT_EQ(Plain({}, "a\u202eb"), "a\\u202eb");
  EXPECT_EQ(FirstHidden(Plain({}, kText)), "");
  EXPECT_EQ(FirstHidden(Plain({.unicode = false}, kText)), "");
  std::string with_text = kText;
  for (size_t at; (at = with_text.find('\x1b')) != std::string::npos;) with_text.erase(at, 1);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Print(with_text);  // even in an unexpected place; only our own escape sequences remain
  PrintError(kText);
  EXPECT_EQ(FirstHidden(testing::internal::GetCapturedStdout()), "");
  EXPECT_EQ(FirstHidden(testing::internal::GetCapturedStderr()), "");
}

TEST(HiddenTextTest, IsEscapedInReports) {
  EXPECT_EQ(FirstHidden(Escaped(kText)), "");
  EXPECT_EQ(Escaped("<\u2028&"), "&lt;\\u2028&amp;");
}

TEST(HiddenTextTest, IsEscapedInJsonWithTheSameValue) {
  v1::PlanJobRequest request;
  request.mutable_job()->mutable_model()->set_name(kText);
  const std::string json = ToJson(request, /*pretty=*/true);
  EXPECT_EQ(FirstHidden(json), "");
  v1::PlanJobRequest read;
  FromJson(json, "it", &read);
  EXPECT_EQ(read.job().model().name(), kText);
}

TEST(HiddenTextTest, IsEscapedInManifests) {
  const nlohmann::ordered_json manifest = {
      {"kind", "Job"}, {kText, kText}, {"block", "first\n" + kText + "\n"}, {"list", {kText}}};
  EXPECT_EQ(FirstHidden(ToYaml(manifest)), "");
}

TEST(HiddenTextTest, IsEscapedInFiles) {
  const std::string path = testing::TempDir() + "/hidden_text_test";
  WriteVisibleText(path, "a\tb\n" + kText);
  std::ifstream file(path, std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(FirstHidden(written), "");
  EXPECT_TRUE(written.starts_with("a\tb\n"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace evenkeel::cli
