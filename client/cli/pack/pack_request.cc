// Makes a request from flags: the second half of pack_flags.h.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/command_error.h"
#include "client/cli/base/parse_number.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/job/option_names.h"
#include "client/cli/pack/group_flags.h"
#include "client/cli/pack/pack_flags.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "planner/job.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::cli {
namespace {

// Limit of a rule file. It leaves room for a plan of many stages, as JSON.
constexpr size_t kMaxRuleFile = size_t{16} << 20;

[[noreturn]] void Fail(const std::string& message) {
  throw CommandError(ExitCode::kBadInput, message);
}

void SetRule(const PackFlags& flags, bool has_units, v1::BatchRule* rule) {
  // Drop the unit cap of a dataset without units; otherwise caps_reason would mention it.
  const std::optional<int64_t> unit_cap = has_units ? flags.unit_cap : std::nullopt;
  if (unit_cap || flags.token_cap) {
    // Thresholds belong to the caps for which they were made.
    rule->clear_keep_units();
    rule->clear_keep_tokens();
    rule->clear_caps_derived();
    rule->clear_caps_reason();
  }
  if (!flags.unit_scales.empty())
    rule->mutable_unit_scales()->Assign(flags.unit_scales.begin(), flags.unit_scales.end());
  if (unit_cap) rule->set_unit_cap(*unit_cap);
  if (flags.token_cap) rule->set_token_cap(*flags.token_cap);
  if (!flags.packer.empty()) rule->set_packer(ValueOf(kPackerNames, flags.packer));
  if (!flags.level.empty()) rule->set_level(ValueOf(kPackLevelNames, flags.level));
  if (flags.keep_units) rule->set_keep_units(*flags.keep_units);
  if (flags.keep_tokens) rule->set_keep_tokens(*flags.keep_tokens);
  if (flags.iterations) rule->set_iterations(*flags.iterations);
  if (flags.seed) rule->set_seed(*flags.seed);
  if (!flags.oversize.empty()) rule->set_oversize_policy(ValueOf(kOversizeNames, flags.oversize));
  if (flags.window == "all") {
    rule->set_order_window(planner::kWholeEpoch);
  } else if (flags.window == "auto") {
    rule->clear_order_window();
  } else if (!flags.window.empty()) {
    rule->set_order_window(ParseNumber<int64_t>(flags.window).value_or(0));
  }
}

}  // namespace

void CheckPackFlags(const PackFlags& flags) {
  if (flags.output == "table" || flags.output == "json") {
    Fail(
        fmt::format("`pack --output` names a folder: for a summary in JSON give --json, for a "
                    "folder of that name ./{}",
                    flags.output));
  }
  if (flags.compare && flags.json) Fail("--compare is a table: give it without --json");
  if (!flags.xtuner_paths.empty() && flags.xtuner_paths.size() != flags.files.size()) {
    Fail(fmt::format("--xtuner-path: {} for {} length files; give one for each, in their order",
                     flags.xtuner_paths.size(), flags.files.size()));
  }
  if (std::count(flags.files.begin(), flags.files.end(), "-") > 1) {
    Fail("standard input ('-') can be read once only");
  }
}

void CheckGroupFlags(const PackFlags& flags) {
  const auto refuse = [](bool given, const char* flag, const char* why) {
    if (given) Fail(fmt::format("{} does not go with packing groups: {}", flag, why));
  };
  refuse(flags.unit_cap || flags.token_cap, "--unit-cap or --token-cap", "they have their own");
  refuse(flags.apart, "--apart", "their packs mix samples of all files");
  refuse(flags.level == "time", "--level time", "they level attention themselves");
  refuse(flags.group.value_or(1) > 1, "--group", "they have their own sequence parallelism");
  refuse(!flags.xtuner.empty(), "--xtuner", "its preset has one pack_max_length");
}

void ScaleUnits(const v1::BatchRule& rule, SampleLengths* samples) {
  const size_t scales = static_cast<size_t>(rule.unit_scales_size());
  if (samples->encoders <= 1 && (scales == 0 || !samples->has_units()))
    return;  // text is packed by any rule
  if (scales == 0)
    Fail(
        fmt::format("the length files have units of {} encoders: --unit-scales, or a plan's rule, "
                    "says what a unit of each counts for",
                    samples->encoders));
  if (scales != samples->encoders)
    Fail(fmt::format("the length files have units of {} encoder{}, but the rule has {} unit scales",
                     samples->encoders, samples->encoders == 1 ? "" : "s", scales));
  for (size_t i = 0; i < samples->units.size(); ++i) {
    int64_t scaled = 0;
    for (size_t e = 0; e < scales; ++e)
      scaled += rule.unit_scales(static_cast<int>(e)) * samples->encoder_units[i * scales + e];
    if (scaled > std::numeric_limits<int32_t>::max())
      Fail(fmt::format("sample {} has {} scaled units: give smaller --unit-scales", i, scaled));
    samples->units[i] = static_cast<int32_t>(scaled);
  }
}

PlannedPacking PackingOf(const v1::Plan& plan) {
  PlannedPacking planned;
  if (plan.has_padded_batches()) Fail("the plan pads its micro-batches: it has no rule to pack by");
  planned.rule = plan.batch_rule();
  planned.groups = plan.packing_groups();
  planned.curriculum_steps = plan.group_choice().curriculum_steps();
  if (plan.has_misfit()) return planned;
  planned.data_parallel = plan.parallelism().data();
  planned.packs_per_rank = static_cast<int32_t>(plan.predictions().micro_batches());
  return planned;
}

PlannedPacking ReadRuleFile(const std::string& path) {
  const std::string text = ReadWholeFile(path, kMaxRuleFile);
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* key) { return json.is_object() && json.contains(key); };
  PlannedPacking planned;
  if (has("create_time") || has("createTime")) {
    v1::GetPlanResponse response;
    FromJson(text, path, &response);
    planned = PackingOf(response.plan());
  } else if (has("plan")) {
    v1::PlanJobResponse response;
    FromJson(text, path, &response);
    planned = PackingOf(response.plan());
  } else if (has("plan_id") || has("planId") || has("batch_rule") || has("batchRule")) {
    v1::Plan plan;
    FromJson(text, path, &plan);
    planned = PackingOf(plan);
  } else {
    FromJson(text, path, &planned.rule);
  }
  if (planned.rule.token_cap() == 0) {
    Fail(path + " has no rule: neither an answer of `plan`, nor a plan, nor a BatchRule with caps");
  }
  return planned;
}

v1::PackDatasetStart StartFromFlags(const PackFlags& flags, const PlannedPacking& planned,
                                    const SampleLengths& samples) {
  v1::PackDatasetStart start;
  *start.mutable_rule() = planned.rule;
  SetRule(flags, samples.has_units(), start.mutable_rule());
  // A plan's groups have their own ranks; any flag that divides the ranks in another way replaces
  // the groups.
  const bool planned_groups = flags.groups.empty() && !planned.groups.empty() &&
                              !flags.data_parallel && !flags.packs_per_rank && !flags.token_cap &&
                              !flags.unit_cap;
  start.set_data_parallel(flags.data_parallel.value_or(planned.data_parallel));
  if (start.data_parallel() == 0 && !planned_groups) {
    Fail("--dp is needed: how many data-parallel ranks share the packs");
  }
  start.set_packs_per_rank(flags.packs_per_rank.value_or(std::max(1, planned.packs_per_rank)));
  if (planned_groups) *start.mutable_groups() = planned.groups;
  if (!flags.groups.empty()) {
    *start.mutable_groups() =
        ParseGroups(flags.groups, start.data_parallel(), flags.packs_per_rank.value_or(1));
  }
  if (start.groups().empty() && flags.curriculum)
    Fail("--curriculum needs packing groups: give --groups, or a plan that has them");
  if (!start.groups().empty()) CheckGroupFlags(flags);
  start.set_curriculum_steps(
      flags.curriculum.value_or(planned_groups ? planned.curriculum_steps : 0));
  start.set_sequence_parallel_group(flags.group.value_or(1));
  start.set_epoch(flags.epoch.value_or(0));
  start.set_sample_count(samples.size());
  if (flags.apart) {
    for (const auto& part : samples.parts) start.add_apart_sample_count(part.count);
  }
  const bool files = !flags.output.empty() || !flags.xtuner.empty() || !flags.report.empty();
  start.set_result(files ? v1::PACK_DATASET_RESULT_FULL : v1::PACK_DATASET_RESULT_SUMMARY);
  return start;
}

}  // namespace evenkeel::cli
