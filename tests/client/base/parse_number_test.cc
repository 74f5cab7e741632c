#include "client/cli/base/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace evenkeel::cli {
namespace {

TEST(ParseNumberTest, TheWholeTextIsTheNumber) {
  EXPECT_EQ(ParseNumber<int32_t>("-12"), -12);
  EXPECT_EQ(ParseNumber<double>("2.5e3"), 2500);
  EXPECT_EQ(ParseNumber<int32_t>("2147483648"), std::nullopt);
  EXPECT_EQ(ParseNumber<int64_t>("2147483648"), int64_t{2147483648});
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "0x1", "1,2"}) {
    EXPECT_EQ(ParseNumber<int64_t>(text), std::nullopt) << text;
    EXPECT_EQ(ParseNumber<double>(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseNumber<int64_t>("1.5"), std::nullopt);
  for (const char* text : {"nan", "inf", "-inf", "1e999"})
    EXPECT_EQ(ParseNumber<double>(text), std::nullopt) << text;
}

}  // namespace
}  // namespace evenkeel::cli
