// `evaluate`: shows a plan that the caller wrote beside ours.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "client/cli/commands/commands.h"
#include "client/cli/job_flags.h"
#include "client/cli/plan_file.h"
#include "client/cli/proto_json.h"
#include "client/cli/render_evaluation.h"
#include "client/cli/render_plan.h"
#include "client/cli/timeline/timeline_files.h"

namespace evenkeel::cli {
namespace {

constexpr const char* kEvaluateFooter =
    "The plan is a Plan in protobuf JSON, or an answer that has one (`plan --save`, `plan "
    "--output\n"
    "json`, `get --output json`), changed or not. These fields count, the others do not:\n"
    "  {\"parallelism\": {\"tensor\": 2, \"pipeline\": 4, \"data\": 4},\n"
    "   \"stages\": [{\"layers\": [{\"layer_count\": 22}]},\n"
    "              {\"layers\": [{\"layer_count\": 23, \"recomputed_count\": 5}]},\n"
    "              {\"layers\": [{\"layer_count\": 24}]}, {\"layers\": [{\"layer_count\": 24}]}]}\n"
    "besides schedule, and unit_cap, token_cap, packer and order_window of batch_rule. Flags that\n"
    "constrain degrees hold for our own plan alone. Returns 1 if your plan does not fit.";

struct EvaluateFlags {
  JobFlags job;
  std::string plan_file;
  TimelineFlags timeline;
};

ExitCode RunEvaluate(const GlobalOptions& options, const EvaluateFlags& flags) {
  if (flags.job.compare_sizes || flags.job.compare_precisions || flags.job.alternatives ||
      !flags.job.label.empty()) {
    throw CommandError(
        ExitCode::kBadInput,
        "--compare-sizes, --compare-precisions, --alternatives and --label are for `plan`");
  }
  CheckTimelineFlags(flags.timeline);
  v1::EvaluatePlanRequest request;
  *request.mutable_job() = RequestFromFlags(flags.job).job();
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
  CLI::App* evaluate =
      app->add_subcommand("evaluate", "Predict a plan that you wrote, beside our own");
  evaluate->footer(kEvaluateFooter);
  evaluate->add_option("--plan", flags->plan_file, "The plan to predict ('-': standard input)")
      ->type_name("FILE")
      ->required()
      ->take_last();
  AddJobFlags(evaluate, &flags->job);
  AddTimelineFlags(evaluate, &flags->timeline);
  evaluate->callback([=] { *exit_code = RunEvaluate(*options, *flags); });
}

}  // namespace evenkeel::cli
