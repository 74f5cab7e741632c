#include "client/cli/pack/pack_flags.h"

#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/base/proto_json.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "tests/client/packs.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {
namespace {

using Arguments = std::vector<std::string>;

PackFlags Flags(Arguments arguments) {
  CLI::App app;
  PackFlags flags;
  AddPackFlags(&app, &flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  CheckPackFlags(flags);
  return flags;
}

v1::PackDatasetStart Start(const Arguments& arguments, const PlannedPacking& planned = {}) {
  return StartFromFlags(Flags(arguments), planned, SmallPacking().samples);
}

Arguments Enough(Arguments more = {}) {
  const Arguments enough = {"f", "--unit-cap", "13", "--token-cap", "4416", "--dp", "8"};
  more.insert(more.begin(), enough.begin(), enough.end());
  return more;
}

template <typename Call>
std::string Fault(Call call) {
  try {
    call();
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(PackFlagsTest, CapsAndRanksAreEnough) {
  v1::PackDatasetStart want;
  want.mutable_rule()->set_unit_cap(13);
  want.mutable_rule()->set_token_cap(4416);
  want.set_data_parallel(8);
  want.set_packs_per_rank(1);
  want.set_sequence_parallel_group(1);
  want.set_sample_count(7);
  want.set_result(v1::PACK_DATASET_RESULT_SUMMARY);
  EXPECT_EQ(Start(Enough()).DebugString(), want.DebugString());
}

TEST(PackFlagsTest, EveryFlagArrives) {
  const v1::PackDatasetStart start = Start(Enough({"--packer",
                                                   "isf",
                                                   "--keep-units",
                                                   "12",
                                                   "--keep-tokens",
                                                   "4000",
                                                   "--iterations",
                                                   "20",
                                                   "--seed",
                                                   "-5",
                                                   "--oversize",
                                                   "reject",
                                                   "--window",
                                                   "16",
                                                   "--epoch",
                                                   "3",
                                                   "--group",
                                                   "2",
                                                   "--packs-per-rank",
                                                   "4",
                                                   "--apart",
                                                   "--output",
                                                   "out"}));
  EXPECT_EQ(start.rule().packer(), v1::PACKER_ISF);
  EXPECT_EQ(start.rule().keep_units(), 12);
  EXPECT_EQ(start.rule().keep_tokens(), 4000);
  EXPECT_EQ(start.rule().iterations(), 20);
  EXPECT_EQ(start.rule().seed(), -5);
  EXPECT_EQ(start.rule().oversize_policy(), v1::OVERSIZE_POLICY_REJECT);
  EXPECT_EQ(start.rule().order_window(), 16);
  EXPECT_EQ(start.epoch(), 3);
  EXPECT_EQ(start.sequence_parallel_group(), 2);
  EXPECT_EQ(start.packs_per_rank(), 4);
  ASSERT_EQ(start.apart_sample_count_size(), 2);
  EXPECT_EQ(start.apart_sample_count(0), 4);
  EXPECT_EQ(start.result(), v1::PACK_DATASET_RESULT_FULL);
  EXPECT_EQ(Start(Enough({"--window", "all"})).rule().order_window(), 1'000'000'000);
  for (const char* name :
       {"balanced", "first-fit-decreasing", "best-fit-decreasing", "greedy-knapsack", "next-fit"}) {
    EXPECT_NE(Start(Enough({"--packer", name})).rule().packer(), v1::PACKER_UNSPECIFIED) << name;
  }
}

TEST(PackFlagsTest, AUnitCapIsDroppedOnlyIfNoSampleHasUnits) {
  SampleLengths samples;
  samples.tokens = {10, 10};
  samples.units = {0, 0};
  const auto unit_cap = [&] {
    return StartFromFlags(Flags(Enough()), {}, samples).rule().unit_cap();
  };
  EXPECT_EQ(unit_cap(), 0);
  samples.units = {0, 1};
  EXPECT_EQ(unit_cap(), 13);
  samples.units = {0, 0};  // before they are scaled
  samples.encoders = 2;
  samples.encoder_units = {0, 0, 1, 0};
  EXPECT_EQ(unit_cap(), 13);
}

TEST(PackFlagsTest, LevelByTimeAndTheWindowOfItsChoice) {
  EXPECT_EQ(Start(Enough({"--level", "time"})).rule().level(), v1::PACK_LEVEL_TIME);
  EXPECT_EQ(Start(Enough({"--level", "tokens"})).rule().level(), v1::PACK_LEVEL_TOKENS);
  PlannedPacking planned;
  planned.rule.set_order_window(16);
  planned.rule.set_level(v1::PACK_LEVEL_TIME);
  EXPECT_EQ(Start(Enough(), planned).rule().order_window(), 16);
  EXPECT_EQ(Start(Enough(), planned).rule().level(), v1::PACK_LEVEL_TIME);
  EXPECT_EQ(Start(Enough({"--window", "auto"}), planned).rule().order_window(), 0);
  EXPECT_NE(Fault([] {
              Start({"f", "--dp", "8", "--groups", "20:1", "--level", "time"});
            }).find("--level time does not go with packing groups"),
            std::string::npos);
}

TEST(PackFlagsTest, BadValuesAreNamed) {
  const auto fault = [](const Arguments& more) { return Fault([&] { Start(Enough(more)); }); };
  EXPECT_NE(fault({"--token-cap", "0"}).find("from 1 to 4294967296"), std::string::npos);
  EXPECT_NE(fault({"--dp", "65537"}).find("--dp"), std::string::npos);
  EXPECT_NE(fault({"--dp", "2.5"}).find("whole number"), std::string::npos);
  EXPECT_NE(fault({"--window", "some"}).find("all or auto"), std::string::npos);
  EXPECT_NE(fault({"--epoch", "-1"}).find("--epoch"), std::string::npos);
  EXPECT_NE(fault({"--packer", "magic"}).find("--packer"), std::string::npos);
  EXPECT_NE(fault({"--level", "squares"}).find("--level"), std::string::npos);
  EXPECT_NE(fault({"--oversize", "drop"}).find("--oversize"), std::string::npos);
  EXPECT_NE(fault({"--rule", "a", "--plan", "b"}).find("excludes"), std::string::npos);
  EXPECT_NE(fault({"--xtuner-path", "a"}).find("--xtuner"), std::string::npos);
  EXPECT_NE(fault({"--xtuner", "x", "--xtuner-path", "a", "--xtuner-path", "b"})
                .find("2 for 1 length files"),
            std::string::npos);
  EXPECT_NE(fault({"--output", "json"}).find("--json"), std::string::npos);
  EXPECT_NE(Fault([] {
              Start({"-", "-", "--token-cap", "5", "--dp", "1"});
            }).find("once"),
            std::string::npos);
}

TEST(PackFlagsTest, MissingRanksAreNamed) {
  EXPECT_NE(Fault([] {
              Start({"f", "--token-cap", "9", "--unit-cap", "9"});
            }).find("--dp"),
            std::string::npos);
}

TEST(PackFlagsTest, MissingCapsComeFromTheData) {
  // Unset values are derived where the packing is done.
  const v1::PackDatasetStart both = Start({"f", "--dp", "8"});
  EXPECT_EQ(both.rule().unit_cap(), 0);
  EXPECT_EQ(both.rule().token_cap(), 0);
  EXPECT_EQ(Start({"f", "--unit-cap", "9", "--dp", "8"}).rule().unit_cap(), 9);
}

TEST(PackFlagsTest, APlanGivesRuleAndSteps) {
  const TestFolder folder;
  v1::PlanJobResponse response;
  v1::Plan* plan = response.mutable_plan();
  plan->mutable_batch_rule()->set_unit_cap(9);
  plan->mutable_batch_rule()->set_token_cap(4096);
  plan->mutable_batch_rule()->set_keep_units(9);
  plan->mutable_batch_rule()->mutable_pack_times()->set_vision_seconds_per_unit(2);
  plan->mutable_parallelism()->set_data(4);
  plan->mutable_predictions()->set_micro_batches(16);
  v1::GetPlanResponse stored;
  *stored.mutable_plan() = *plan;
  stored.mutable_create_time()->set_seconds(1);
  for (const std::string& text : {ToJson(response), ToJson(stored), ToJson(*plan)}) {
    const v1::PackDatasetStart start = Start({"f"}, ReadRuleFile(folder.Write("plan.json", text)));
    EXPECT_EQ(start.rule().token_cap(), 4096);
    EXPECT_EQ(start.rule().keep_units(), 9);
    EXPECT_EQ(start.rule().pack_times().vision_seconds_per_unit(), 2);
    EXPECT_EQ(start.data_parallel(), 4);
    EXPECT_EQ(start.packs_per_rank(), 16);
  }
  const PlannedPacking rule = ReadRuleFile(folder.Write("rule.json", ToJson(plan->batch_rule())));
  EXPECT_EQ(rule.rule.unit_cap(), 9);
  EXPECT_EQ(rule.data_parallel, 0);
  // Other caps cancel the thresholds that belonged to the old ones.
  const v1::PackDatasetStart start = Start({"f", "--unit-cap", "10", "--dp", "2"}, rule);
  EXPECT_EQ(start.rule().unit_cap(), 10);
  EXPECT_EQ(start.rule().token_cap(), 4096);
  EXPECT_EQ(start.rule().keep_units(), 0);
}

TEST(PackFlagsTest, FilesWithoutARuleAreRefused) {
  const TestFolder folder;
  for (const char* text : {"{}", "{\"plan\": {}}", "[]", "nonsense", "{\"token_num\": 5}"}) {
    const std::string path = folder.Write("plan.json", text);
    EXPECT_NE(Fault([&] { ReadRuleFile(path); }).find("plan.json"), std::string::npos) << text;
  }
}

std::vector<std::string> Groups(const v1::PackDatasetStart& start) {
  std::vector<std::string> texts;
  for (const v1::PackingGroup& g : start.groups()) {
    texts.push_back(std::to_string(g.length_tokens()) + ": " + std::to_string(g.data_parallel()) +
                    " x " + std::to_string(g.sequence_parallel()) + " GPUs, " +
                    std::to_string(g.packs_per_rank()) + " packs");
  }
  return texts;
}

TEST(PackFlagsTest, GroupsShareTheRanksAndHaveStepsOfLikeTokens) {
  const auto start =
      Start({"f", "--groups", "4096:1,16384:1,131072:8", "--dp", "32", "--curriculum", "500"});
  EXPECT_EQ(Groups(start), (Arguments{"4096: 32 x 1 GPUs, 4 packs", "16384: 32 x 1 GPUs, 1 packs",
                                      "131072: 4 x 8 GPUs, 1 packs"}));
  EXPECT_EQ(start.curriculum_steps(), 500);
  EXPECT_EQ(Groups(Start({"f", "--groups", "16384:1:3,131072:8", "--dp", "32"})),
            (Arguments{"16384: 32 x 1 GPUs, 3 packs", "131072: 4 x 8 GPUs, 3 packs"}));
}

TEST(PackFlagsTest, GroupsOfAPlanCountUnlessFlagsDivideThemAnew) {
  PlannedPacking planned;
  planned.rule.set_token_cap(800);
  planned.data_parallel = 2;
  v1::PackingGroup* group = planned.groups.Add();
  group->set_length_tokens(100);
  group->set_data_parallel(8);
  planned.curriculum_steps = 7;
  EXPECT_EQ(Start({"f"}, planned).groups_size(), 1);
  EXPECT_EQ(Start({"f"}, planned).curriculum_steps(), 7);
  EXPECT_EQ(Start({"f", "--curriculum", "2"}, planned).curriculum_steps(), 2);
  EXPECT_EQ(Start({"f", "--dp", "4"}, planned).curriculum_steps(), 0);
  EXPECT_EQ(Start({"f", "--dp", "4"}, planned).groups_size(), 0);
  EXPECT_EQ(Start({"f", "--groups", "50:1,90:2", "--dp", "4"}, planned).groups_size(), 2);
}

TEST(PackFlagsTest, UnitsOfSeveralEncodersAreScaled) {
  const v1::BatchRule rule = Start(Enough({"--unit-scales", "10,1"})).rule();
  SampleLengths samples;
  samples.units = {0, 0};
  samples.tokens = {900, 50};
  samples.encoders = 2;
  samples.encoder_units = {3, 7, 0, 0};
  ScaleUnits(rule, &samples);
  EXPECT_EQ(samples.units, (std::vector<int32_t>{37, 0}));
  EXPECT_EQ(samples.lengths().UnitsOf(0)[1], 7);
  EXPECT_EQ(Fault([&] { ScaleUnits(v1::BatchRule(), &samples); }),
            "the length files have units of 2 encoders: --unit-scales, or a plan's rule, says what "
            "a unit of each counts for");
  SampleLengths one = SmallPacking().samples;
  one.encoders = 1;
  EXPECT_EQ(Fault([&] { ScaleUnits(rule, &one); }),
            "the length files have units of 1 encoder, but the rule has 2 unit scales");
  one.units.assign(one.units.size(), 0);
  EXPECT_EQ(Fault([&] { ScaleUnits(rule, &one); }), "no fault");  // text
}

TEST(PackFlagsTest, BadGroupsAreNamed) {
  const auto fault = [](const Arguments& more) -> std::string {
    Arguments arguments = {"f", "--dp", "8"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    try {
      Start(arguments);
    } catch (const CommandError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault({"--groups", "100:3"}),
            "--groups: SP of \"100:3\" must divide the data-parallel ranks (--dp 8), but is 3");
  EXPECT_EQ(fault({"--groups", "100:1,"}),
            "--groups: a group is LENGTH:SP or LENGTH:SP:PACKS_PER_RANK, such as 131072:8, but one "
            "is \"\"");
  EXPECT_EQ(fault({"--groups", "16K:1"}),
            "--groups: the length of \"16K:1\" must be a whole number from 1 to 16777216, but is "
            "\"16K\"");
  EXPECT_EQ(fault({"--groups", "100:1", "--xtuner", "x"}),
            "--xtuner does not go with packing groups: its preset has one pack_max_length");
  EXPECT_EQ(fault({"--groups", "100:1", "--report", "r.html", "--compare"}), "");
  EXPECT_EQ(fault({"--curriculum", "5"}),
            "--curriculum needs packing groups: give --groups, or a plan that has them");
}

}  // namespace
}  // namespace evenkeel::cli
