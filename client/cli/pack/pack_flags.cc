#include "client/cli/pack/pack_flags.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <limits>
#include <string>

#include "client/cli/base/flags.h"
#include "client/cli/base/text.h"
#include "client/cli/job/option_names.h"
#include "client/cli/media/media_processor.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"
#include "server/convert/packing/packing_rule.h"

namespace evenkeel::cli {
namespace {

CLI::Validator WindowSize() {
  const CLI::Validator whole = Whole(1, planner::kWholeEpoch);
  const auto check = [whole](std::string& text) -> std::string {
    if (text == "all" || text == "auto" || whole(text).empty()) return "";
    return fmt::format("must be a number of steps from 1 to 1000000000, all or auto, but is \"{}\"",
                       text);
  };
  return CLI::Validator(check, "");
}

void AddRuleFlags(CLI::App* command, PackFlags* flags) {
  const char* const kRule = "Rule";
  command
      ->add_option("--unit-scales", flags->unit_scales,
                   "With several encoders: the weight of a unit of each, in proportion to its "
                   "work; caps are in weighted units [the plan's]")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->group(kRule)
      ->take_all()
      ->check(Whole(1, 1000));
  Add(command, "--unit-cap", &flags->unit_cap, "N",
      "Maximum encoder units per pack [from the data]", kRule)
      ->check(Whole(1, planner::kUnitCapAtMost));
  Add(command, "--token-cap", &flags->token_cap, "N", "Maximum tokens per pack [from the data]",
      kRule)
      ->check(Whole(1, server::kPackTokenCaps.max));
  Add(command, "--rule", &flags->rule_file, "FILE",
      "Take rule and steps of a plan that `plan --save` wrote; other flags override it", kRule);
  Add(command, "--plan", &flags->plan_id, "ID", "The same, from a plan that the server keeps",
      kRule)
      ->excludes("--rule");
  Add(command, "--packer", &flags->packer, "NAME", Listed(AllNames(kPackerNames)) + " [balanced]",
      kRule)
      ->check(CLI::IsMember(AllNames(kPackerNames)).description(""));
  Add(command, "--level", &flags->level, JoinedNames(kPackLevelNames, "|"),
      "Balance packs by tokens and units, or by the predicted time of a plan's rule, if that makes "
      "the epoch shorter [tokens]",
      kRule)
      ->check(CLI::IsMember(AllNames(kPackLevelNames)).description(""));
  Add(command, "--keep-units", &flags->keep_units, "N",
      "isf: keep packs of at least this many units [--unit-cap]", kRule)
      ->check(Whole(1, planner::kUnitCapAtMost));
  Add(command, "--keep-tokens", &flags->keep_tokens, "N",
      "isf: also keep packs of at least this many tokens [--token-cap - 128]", kRule)
      ->check(Whole(1, server::kPackTokenCaps.max));
  Add(command, "--iterations", &flags->iterations, "N", "isf: rounds [10]", kRule)
      ->check(Whole(1, 100));
  Add(command, "--oversize", &flags->oversize, JoinedNames(kOversizeNames, "|"),
      "A sample that exceeds a cap gets its own pack, or none; it is reported in either case "
      "[alone]",
      kRule)
      ->check(CLI::IsMember(AllNames(kOversizeNames)).description(""));
  command->add_flag("--apart", flags->apart, "No pack mixes samples of several files")
      ->group(kRule);
}

void AddDealFlags(CLI::App* command, PackFlags* flags) {
  const char* const kSteps = "Steps";
  Add(command, "--dp", &flags->data_parallel, "N", "Data-parallel ranks [the plan's]", kSteps)
      ->check(Whole(1, planner::kGpusAtMost));
  Add(command, "--packs-per-rank", &flags->packs_per_rank, "N",
      "Packs of a rank in each step: micro-batches [the plan's, or 1]", kSteps)
      ->check(Whole(1, 65536));
  Add(command, "--groups", &flags->groups, "L:SP[:M],...",
      "Packing groups for long context, L in ascending order: samples of up to L tokens are packed "
      "together, SP of the --dp ranks share a pack, and a rank has M packs per step [M: as many as "
      "give steps of similar tokens] [the plan's]",
      kSteps);
  Add(command, "--curriculum", &flags->curriculum, "N",
      "With groups: number of initial steps that run only the shortest group [the "
      "plan's, or 0]",
      kSteps)
      ->check(Whole(0, std::numeric_limits<int64_t>::max()));
  Add(command, "--window", &flags->window, "N|all|auto",
      "Steps among which packs may change places for balance; 1: a fully random order; auto: "
      "ignore the plan's window and take the default [16; with groups: all; with --level time: the "
      "least that leaves 1% idle]",
      kSteps)
      ->check(WindowSize());
  Add(command, "--group", &flags->group, "N",
      "Consecutive packs of a rank, of similar length, that sequence parallelism takes at once [1]",
      kSteps)
      ->check(Whole(1, 65536));
  Add(command, "--seed", &flags->seed, "N", "Seed of all random choices [0]", kSteps)
      ->check(Whole(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  Add(command, "--epoch", &flags->epoch, "N", "Epoch whose order to make, counted from 0 [0]",
      kSteps)
      ->check(Whole(0, std::numeric_limits<int64_t>::max()));
}

void AddResultFlags(CLI::App* command, PackFlags* flags) {
  const char* const kResults = "Results";
  Add(command, "--output", &flags->output, "DIR",
      "Write pack_offsets.npy, sample_index.npy, step_order.npy and summary.json here", kResults);
  Add(command, "--xtuner", &flags->xtuner, "DIR",
      "Write a preset that XTuner v1 reads here: the packs, and order.npy", kResults);
  command
      ->add_option("--xtuner-path", flags->xtuner_paths,
                   "What XTuner calls the dataset of each length file; repeatable, in their order "
                   "[the length files' own paths]")
      ->type_name("PATH")
      ->group(kResults)
      ->needs("--xtuner")
      ->take_all();
  command
      ->add_flag("--compare", flags->compare,
                 "Also show the result of every other packer and order, and of ISF at the caps of "
                 "OmniBal's argument search")
      ->group(kResults);
  Add(command, "--report", &flags->report, "FILE",
      "Write an HTML page that shows packs and steps before and after", kResults);
  command->add_flag("--force", flags->force, "Overwrite existing results")->group(kResults);
  command->add_flag("--json", flags->json, "Print the summary as protobuf JSON")->group(kResults);
}

}  // namespace

void AddPackFlags(CLI::App* command, PackFlags* flags) {
  command->add_option("--processor", flags->processor, kProcessorHelp)->type_name("PATH");
  command
      ->add_option("FILE", flags->files,
                   "Length files, one after the other (see `stats`; '-': standard input)")
      ->required();
  AddRuleFlags(command, flags);
  AddDealFlags(command, flags);
  AddResultFlags(command, flags);
}

}  // namespace evenkeel::cli
