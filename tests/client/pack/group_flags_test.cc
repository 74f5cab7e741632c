// Tests the flags for long context: packing groups of a job, and what ranks share a pack.
#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {
namespace {

v1::Training GroupTrainingOf(std::vector<std::string> arguments) {
  const std::vector<std::string> three = {"--model", "m", "--gpu", "g", "--gpus", "32"};
  arguments.insert(arguments.begin(), three.begin(), three.end());
  CLI::App app;
  JobFlags flags;
  AddJobFlags(&app, &flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return RequestFromFlags(flags).job().training();
}

TEST(GroupFlagsTest, SelectionsByName) {
  EXPECT_EQ(GroupTrainingOf({}).group_selection(), v1::GROUP_SELECTION_UNSPECIFIED);
  EXPECT_EQ(GroupTrainingOf({"--groups", "one"}).group_selection(), v1::GROUP_SELECTION_ONE);
  EXPECT_EQ(GroupTrainingOf({"--groups", "published"}).group_selection(),
            v1::GROUP_SELECTION_PUBLISHED);
  EXPECT_EQ(GroupTrainingOf({"--groups", "exact"}).group_selection(), v1::GROUP_SELECTION_EXACT);
}

TEST(GroupFlagsTest, LengthsAndCurriculum) {
  const v1::Training training =
      GroupTrainingOf({"--group-lengths", "16384,131072", "--curriculum", "0"});
  EXPECT_EQ(std::vector<int64_t>(training.group_lengths().begin(), training.group_lengths().end()),
            (std::vector<int64_t>{16384, 131072}));
  EXPECT_TRUE(training.has_curriculum_steps());
  EXPECT_EQ(training.curriculum_steps(), 0);
  EXPECT_FALSE(GroupTrainingOf({}).has_curriculum_steps());
  EXPECT_EQ(GroupTrainingOf({"--curriculum", "40"}).curriculum_steps(), 40);
}

TEST(GroupFlagsTest, FrameworkAndExchange) {
  EXPECT_EQ(GroupTrainingOf({"--framework", "deepspeed"}).framework(),
            v1::TRAINING_FRAMEWORK_DEEPSPEED);
  EXPECT_EQ(GroupTrainingOf({"--framework", "fsdp"}).framework(), v1::TRAINING_FRAMEWORK_FSDP);
  EXPECT_EQ(GroupTrainingOf({"--framework", "megatron"}).framework(),
            v1::TRAINING_FRAMEWORK_MEGATRON);
  EXPECT_EQ(GroupTrainingOf({"--context-exchange", "ring"}).execution().context_exchange(),
            v1::CONTEXT_EXCHANGE_RING);
  EXPECT_EQ(GroupTrainingOf({"--context-exchange", "all-gather"}).execution().context_exchange(),
            v1::CONTEXT_EXCHANGE_ALL_GATHER);
  EXPECT_EQ(GroupTrainingOf({"--context-exchange", "hierarchical"}).execution().context_exchange(),
            v1::CONTEXT_EXCHANGE_HIERARCHICAL);
  EXPECT_EQ(GroupTrainingOf({"--context-exchange", "ulysses"}).execution().context_exchange(),
            v1::CONTEXT_EXCHANGE_ULYSSES);
  EXPECT_FALSE(GroupTrainingOf({}).has_execution());
}

TEST(GroupFlagsTest, WhatIsNoChoiceIsRefused) {
  const std::vector<std::vector<std::string>> bad = {
      {"--groups", "best"},         {"--groups", "16384:1"},  {"--group-lengths", "long"},
      {"--curriculum", "-1"},       {"--curriculum", "some"}, {"--framework", "torchtitan"},
      {"--context-exchange", "p2p"}};
  for (const auto& arguments : bad)
    EXPECT_THROW(GroupTrainingOf(arguments), CLI::ParseError)
        << arguments[0] << " " << arguments[1];
}

}  // namespace
}  // namespace evenkeel::cli
