#include "client/cli/job/option_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "client/cli/job/priced.h"

namespace evenkeel::cli {
namespace {

// Every value but the unspecified one has a name, and no two have the same.
template <typename Enum, size_t kSize>
void ExpectAllNamed(const OptionNames<Enum, kSize>& names) {
  const auto* const values = google::protobuf::GetEnumDescriptor<Enum>();
  EXPECT_EQ(static_cast<int>(kSize), values->value_count() - 1) << values->name();
  std::set<std::string> used;
  for (int i = 1; i < values->value_count(); ++i) {
    const auto value = static_cast<Enum>(values->value(i)->number());
    const std::string name = NameOf(names, value, "");
    EXPECT_NE(name, "") << values->value(i)->name();
    EXPECT_TRUE(used.insert(name).second) << name;
    EXPECT_EQ(ValueOf(names, name), value);
  }
}

TEST(OptionNamesTest, EveryValueHasAName) {
  ExpectAllNamed(kPrecisionNames);
  ExpectAllNamed(kDispatcherNames);
  ExpectAllNamed(kFrozenFormatNames);
  ExpectAllNamed(kOptimizerNames);
  ExpectAllNamed(kOffloadModuleNames);
  ExpectAllNamed(kFrameworkNames);
  ExpectAllNamed(kGroupSelectionNames);
  ExpectAllNamed(kContextExchangeNames);
  ExpectAllNamed(kGradientNames);
  ExpectAllNamed(kFabricNames);
  ExpectAllNamed(kPackerNames);
  ExpectAllNamed(kPackLevelNames);
  ExpectAllNamed(kOversizeNames);
  ExpectAllNamed(kScheduleNames);
  ExpectAllNamed(kPartitionNames);
  ExpectAllNamed(kRecomputeNames);
  ExpectAllNamed(kObjectiveNames);
}

TEST(OptionNamesTest, PriceFollowsAnAt) {
  EXPECT_EQ(ParsePriced("h200")->what, "h200");
  EXPECT_FALSE(ParsePriced("h200")->price);
  EXPECT_EQ(ParsePriced("h200:8@3.8")->what, "h200:8");
  EXPECT_EQ(ParsePriced("h200:8@3.8")->price, 3.8);
  for (const char* text : {"h200@", "h200@x", "h200@-1", "h200@nan", "h200@1@2"})
    EXPECT_FALSE(ParsePriced(text)) << text;
}

}  // namespace
}  // namespace evenkeel::cli
