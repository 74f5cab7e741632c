#include "client/cli/base/table.h"

#include <gtest/gtest.h>

namespace evenkeel::cli {
namespace {

TEST(TableTest, ColumnsThatFoldKeepAllOfTheirCells) {
  Table table({{"name", Align::kLeft, /*shrink=*/true, 8, /*fold=*/true}, {"sets", Align::kLeft}});
  table.Add({"offload.device", "this"});
  table.Add({"offload.pin", "that"});
  const Style narrow{.width = 16, .unicode = false};
  EXPECT_EQ(table.Render(narrow),
            "  name      sets\n"
            "  --------  ----\n"
            "  offload.  this\n"
            "  device\n"
            "  offload.  that\n"
            "  pin\n");
  const Style wide{.width = 100, .unicode = false};
  EXPECT_EQ(table.Render(wide),
            "  name            sets\n"
            "  --------------  ----\n"
            "  offload.device  this\n"
            "  offload.pin     that\n");
}

}  // namespace
}  // namespace evenkeel::cli
