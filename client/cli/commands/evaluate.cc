// `evaluate`: shows a plan that the caller wrote, or a configuration of a trainer, next to ours.
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/environment.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/base/text.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/plan_file.h"
#include "client/cli/from/advise/evaluate_run.h"
#include "client/cli/from/advise/render_from.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/request_of.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/job/job_flags.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/evaluation.h"
#include "client/cli/render/plan.h"
#include "client/cli/timeline/timeline_files.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMostChanges = 5;

constexpr const char* kEvaluateFooter =
    "  evenkeelctl evaluate --local --from run.sh --gpu h100-sxm-80gb --gpus 64\n"
    "  evenkeelctl evaluate --local --from ds_config.json --model config.json --token-cap 4096 "
    "...\n"
    "--from reads Megatron-LM arguments (a script, a file of arguments, YAML), FlagScale YAML,\n"
    "DeepSpeed JSON, torchtitan TOML, LLaMA-Factory or axolotl YAML, an ms-swift script, or "
    "Hugging\n"
    "Face TrainingArguments (JSON, YAML, a script). With TrainingArguments, also pass PEFT's\n"
    "adapter_config.json or accelerate's launch.yaml by a second --from. The answer says what the\n"
    "configuration will do, and what to change first.\n"
    "\n"
    "--plan reads a Plan in protobuf JSON, or an answer that contains one (`plan --save`,\n"
    "`plan --output json`, `get --output json`), edited or not. Only these fields count:\n"
    "  {\"parallelism\": {\"tensor\": 2, \"pipeline\": 4, \"data\": 4},\n"
    "   \"stages\": [{\"layers\": [{\"layer_count\": 22, \"recomputed_count\": 5}]},\n"
    "              {\"layers\": [{\"layer_count\": 23}]},\n"
    "              {\"layers\": [{\"layer_count\": 24}]}, {\"layers\": [{\"layer_count\": 24}]}]}\n"
    "and schedule, and unit_cap, token_cap, packer and order_window of batch_rule. Flags that\n"
    "constrain degrees apply only to Evenkeel's plan. Returns 1 if your plan does not fit.\n"
    "`evenkeelctl --help` lists options that every command takes (--local, --server, --output, "
    "...).";

// Returns the names of formats that --from reads.
std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const ConfigFormatRecord& record : kConfigFormats) names.emplace_back(record.name);
  return names;
}

// Returns FormatNames() and the kinds of trainers that --plan may be for.
std::vector<std::string> FrameworkNames() {
  std::vector<std::string> names = FormatNames();
  for (std::string& kind : AllNames(kFrameworkNames))
    if (!FormatNamed(kind)) names.push_back(std::move(kind));
  return names;
}

struct EvaluateFlags {
  JobFlags job;
  std::string plan_file, framework;
  std::vector<std::string> variables;  // "NAME=VALUE"
  std::vector<std::string> from;       // files
  TimelineFlags timeline;
};

// Evaluates a configuration, and changes of it.
void FillAnswer(const GlobalOptions& options, FromAnswer& answer) {
  const auto backend = BackendOf(options);
  const ModelLayers layers = LayersOf(backend->EvaluatePlan(LayersRequest(answer.run)).evaluated());
  AdaptToLayers(layers, &answer.run);
  answer.response = EvaluateRun(&answer.run, layers, /*evaluate_only=*/false, backend.get());
  answer.request = RequestOf(answer.run, layers, /*evaluate_only=*/false);
  answer.changes = FirstChanges(answer.run, answer.response.evaluated(), answer.config.format,
                                layers, kMostChanges, backend.get());
  for (Change& change : answer.changes.best) {
    change.argument = InSyntax(answer.config.syntax, std::move(change.argument));
    if (answer.config.front_end != nullptr)
      absl::StrReplaceAll(answer.config.front_end->words, &change.argument);
  }
  answer.computed_by = "computed by " + backend->name() + UnconfirmedText(answer.response);
}

// Returns the details of a refusal, with the settings behind them. A setting that seems to be
// missing or wrong may be misspelt, so a refusal lists the settings that were not understood.
std::vector<std::string> DetailsFor(const UserConfig& config, const CommandError& refused) {
  constexpr size_t kMostUnknown = 8;
  std::vector<std::string> details = refused.details();
  for (std::string& detail : details) detail = WithItsSetting(config, std::move(detail));
  if (refused.code() != ExitCode::kBadInput) return details;
  for (size_t i = 0; i < std::min(kMostUnknown, config.unknown.size()); ++i)
    details.push_back("not understood: " + Describe(config.unknown[i]));
  if (config.unknown.size() > kMostUnknown)
    details.push_back(
        fmt::format("{} more were not understood", config.unknown.size() - kMostUnknown));
  if (!config.left_out.empty()) details.push_back(config.left_out);
  return details;
}

ExitCode RunFrom(const GlobalOptions& options, const EvaluateFlags& flags) {
  FromAnswer answer{.path = flags.from.front()};
  Environment environment;  // of several with one name, the last counts
  for (const std::string& variable : flags.variables) {
    auto [name, value] = VariableOf(variable, /*of_script=*/true);
    environment[std::move(name)] = std::move(value);
  }
  const std::optional<ConfigFormat> wanted = FormatNamed(flags.framework);
  if (!wanted && !flags.framework.empty())
    throw CommandError(ExitCode::kBadInput,
                       "with --from, --framework must be " + Listed(FormatNames()));
  answer.config = ReadUserConfig(flags.from, wanted, environment);
  try {
    answer.run = RunOf(answer.config, flags.job);
    FillAnswer(options, answer);
  } catch (const CommandError& refused) {
    throw CommandError(refused.code(), refused.what(), DetailsFor(answer.config, refused));
  }
  Print(options.json() ? FromAnswerJson(answer) : RenderFrom(StyleOf(options), answer));
  return answer.response.evaluated().has_misfit() ? ExitCode::kDoesNotFit : ExitCode::kOk;
}

ExitCode RunEvaluate(const GlobalOptions& options, const EvaluateFlags& flags) {
  if (flags.job.compare_sizes || flags.job.compare_precisions || flags.job.compare_shardings ||
      flags.job.alternatives || !flags.job.label.empty()) {
    throw CommandError(
        ExitCode::kBadInput,
        "--compare-sizes, --compare-precisions, --compare-shardings, --alternatives and --label "
        "are for `plan`");
  }
  if (flags.plan_file.empty() == flags.from.empty())
    throw CommandError(
        ExitCode::kBadInput,
        "give either --plan FILE (a plan) or --from PATH (a trainer's configuration)");
  if (flags.from.empty() && !flags.variables.empty())
    throw CommandError(ExitCode::kBadInput, "--env is for a script that --from reads");
  if (!flags.from.empty()) {
    if (flags.timeline.any())
      throw CommandError(ExitCode::kBadInput, "not yet: --trace and --report with --from");
    return RunFrom(options, flags);
  }
  CheckTimelineFlags(flags.timeline);
  v1::EvaluatePlanRequest request;
  JobFlags job = flags.job;
  if (job.framework.empty()) job.framework = flags.framework;
  if (!job.framework.empty() &&
      ValueOf(kFrameworkNames, job.framework) == v1::TRAINING_FRAMEWORK_UNSPECIFIED)
    throw CommandError(ExitCode::kBadInput,
                       "with --plan, --framework must be " + Listed(AllNames(kFrameworkNames)));
  *request.mutable_job() = RequestFromFlags(job).job();
  *request.mutable_plan() = TimelineRequest({}, ReadPlanFile(flags.plan_file)).plan();
  request.set_include_timeline(flags.timeline.any());
  const auto backend = BackendOf(options);
  const v1::EvaluatePlanResponse response = backend->EvaluatePlan(request);
  const std::vector<std::string> written =
      WriteTimeline(flags.timeline, response.evaluated(), response.timeline());
  if (options.json()) {
    Print(ToJson(response));
  } else {
    const Style style = StyleOf(options);
    Print(RenderEvaluation(style, response,
                           "computed by " + backend->name() + UnconfirmedText(response)) +
          RenderWritten(style, written));
  }
  return response.evaluated().has_misfit() ? ExitCode::kDoesNotFit : ExitCode::kOk;
}

}  // namespace

void AddEvaluateCommand(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code) {
  const auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* evaluate = app->add_subcommand(
      "evaluate",
      "Predict your own plan or trainer configuration, and compare it with Evenkeel's plan");
  evaluate->footer(kEvaluateFooter);
  evaluate->add_option("--plan", flags->plan_file, "The plan to predict ('-': standard input)")
      ->type_name("FILE")
      ->take_last();
  evaluate
      ->add_option("--from", flags->from,
                   "The trainer's configuration to predict ('-': standard input). Repeat it to add "
                   "PEFT's adapter_config.json or accelerate's launch file")
      ->type_name("PATH")
      ->expected(1)
      ->take_all();
  evaluate
      ->add_option(
          "--env", flags->variables,
          "A variable that is set when the script of --from runs, or its argument 1, 2, ...; "
          "repeatable")
      ->type_name("NAME=VALUE")
      ->take_all();
  // Without --from, --framework names the kind of trainer, as in `plan`.
  evaluate
      ->add_option("--framework", flags->framework,
                   "Format of the file that --from names [found by its content]; with --plan, the "
                   "kind of trainer")
      ->type_name(absl::StrJoin(FrameworkNames(), "|"))
      ->take_last()
      ->check(CLI::IsMember(FrameworkNames()).description(""));
  AddJobFlags(evaluate, &flags->job, "--training-framework");
  AddTimelineFlags(evaluate, &flags->timeline);
  evaluate->callback([=] { *exit_code = RunEvaluate(*options, *flags); });
}

}  // namespace evenkeel::cli
