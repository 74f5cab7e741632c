#include "client/cli/base/unknown_argument.h"

#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <vector>

namespace evenkeel::cli {
namespace {

std::string Complaint(std::vector<std::string> arguments) {
  CLI::App app;
  app.require_subcommand(0, 1);
  app.fallthrough();
  bool local = false;
  app.add_flag("--local", local);
  std::string model;
  CLI::App* plan = app.add_subcommand("plan");
  plan->add_option("--model", model);
  plan->add_option("--global-batch", model);
  app.add_subcommand("pack")->add_option("--rule", model);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ExtrasError&) {
    return UnknownArgument(app);
  }
  return "";
}

TEST(UnknownArgumentTest, NamesTheCommandThatWasPerhapsMeant) {
  EXPECT_EQ(Complaint({"plna", "--local"}), "there is no command \"plna\"; nearest: plan");
  EXPECT_EQ(Complaint({"--local", "plna", "--model", "x"}),
            "there is no command \"plna\"; nearest: plan");
}

TEST(UnknownArgumentTest, NamesTheOptionThatWasPerhapsMeantAndNotItsValue) {
  EXPECT_EQ(Complaint({"plan", "--modle", "llama"}),
            "there is no option --modle; nearest: --model");
  EXPECT_EQ(Complaint({"plan", "--modle=llama"}), "there is no option --modle; nearest: --model");
  EXPECT_EQ(Complaint({"plan", "--batch", "8"}),
            "there is no option --batch; nearest: --global-batch");
  EXPECT_EQ(Complaint({"plan", "--lcoal"}), "there is no option --lcoal; nearest: --local");
  EXPECT_EQ(Complaint({"plan", "--xyz"}), "there is no option --xyz");
  EXPECT_EQ(Complaint({"--lcoal", "plan"}), "there is no option --lcoal; nearest: --local");
  EXPECT_EQ(Complaint({"--modl", "x"}), "there is no option --modl");
}

TEST(UnknownArgumentTest, AnOptionOfACommandMustFollowIt) {
  EXPECT_EQ(Complaint({"--model", "llama", "plan"}),
            "--model must follow the command, as in plan --model ...");
  EXPECT_EQ(Complaint({"--model=llama", "plan", "--local"}),
            "--model must follow the command, as in plan --model ...");
  EXPECT_EQ(Complaint({"--rule", "cap"}), "--rule must follow a command, as in pack --rule ...");
}

TEST(UnknownArgumentTest, OneDashIsOneTooFew) {
  EXPECT_EQ(Complaint({"plan", "-model", "llama"}), "-model has one dash: write --model");
  EXPECT_EQ(Complaint({"plan", "-model=llama"}), "-model has one dash: write --model");
}

TEST(UnknownArgumentTest, DashesWithoutANameAreNoOption) {
  EXPECT_EQ(Complaint({"plan", "--=x"}), "unexpected argument \"--=x\"");
  EXPECT_EQ(Complaint({"plan", "-=x"}), "unexpected argument \"-=x\"");
  EXPECT_EQ(Complaint({"--=x"}), "there is no command \"--=x\"");
}

TEST(UnknownArgumentTest, NamesAWordTooMany) {
  EXPECT_EQ(Complaint({"plan", "--model", "a", "b"}), "unexpected argument \"b\"");
  EXPECT_EQ(Complaint({"plan", "--local"}), "");
}

}  // namespace
}  // namespace evenkeel::cli
