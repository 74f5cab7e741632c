// Tests the places of settings in JSON, whose parser tells no lines.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "client/cli/from/read/documents.h"

namespace evenkeel::cli {
namespace {

TEST(JsonLinesTest, EachSettingHasTheLineOfItsKey) {
  const std::string text =
      "{\n"
      "  \"a\": 1, \"b\": {\"c\": \"x\\ny\",\n"
      "    \"d\": [1, {\"e\": 2,\n"
      "      \"f\": 3}],\n"
      "    \"g\":\n"
      "      4},\n"
      "  \"h\": {}, \"i\": null,\n"
      "  \"j\": true\n"
      "}\n";
  std::vector<std::string> places;
  std::set<std::string> nulls;
  for (const Setting& setting : ReadJson(text, "ds.json", &nulls))
    places.push_back(setting.key + " " + setting.where);
  EXPECT_EQ(places, (std::vector<std::string>{"a ds.json:2", "b.c ds.json:2", "b.d ds.json:3",
                                              "b.g ds.json:5", "j ds.json:8"}));
  EXPECT_EQ(nulls, std::set<std::string>{"i"});
  for (const Setting& setting : ReadJsonPart("{\"a\": 1,\n\"b\": 2}", "run.sh:7"))
    EXPECT_EQ(setting.where, "run.sh:7");
}

}  // namespace
}  // namespace evenkeel::cli
