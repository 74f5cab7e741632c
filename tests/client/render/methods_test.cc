#include "client/cli/render/methods.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/client/timelines.h"

namespace evenkeel::cli {
namespace {

TEST(RenderMethodsTest, OursFirstAndOthersAgainstIt) {
  std::vector<v1::Plan> plans(PartitionMethods().size(), GoldenPlan());
  EXPECT_EQ(PartitionMethods().front(), v1::PARTITION_METHOD_EXACT);
  plans[1].mutable_predictions()->set_gpu_days(1.25 * plans[0].predictions().gpu_days());
  plans[2].mutable_misfit();
  const std::string text = RenderMethods({.width = 100, .unicode = true, .color = false}, plans);
  EXPECT_LT(text.find("exact (ours)"), text.find("BMP (OmniBal)"));
  EXPECT_NE(text.find("25.0%"), std::string::npos) << text;
  EXPECT_NE(text.find("no fit"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100) << line;
}

}  // namespace
}  // namespace evenkeel::cli
