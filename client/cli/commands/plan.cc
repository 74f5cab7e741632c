// `plan` and `validate`.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "client/cli/commands/commands.h"
#include "client/cli/job_flags.h"
#include "client/cli/proto_json.h"
#include "client/cli/render_plan.h"

namespace evenkeel::cli {
namespace {

std::string ServedFrom(const v1::PlanJobResponse& response, const Backend& backend) {
  switch (response.served_from()) {
    case v1::SERVED_FROM_PLANNER:
      return "computed by " + backend.name();
    case v1::SERVED_FROM_MEMORY:
      return "known to " + backend.name();
    default:
      return "from " + backend.name();
  }
}

ExitCode RunPlan(const GlobalOptions& options, const JobFlags& flags, const std::string& save) {
  v1::PlanJobRequest request = RequestFromFlags(flags);
  request.set_validate_only(false);
  const auto backend = BackendOf(options);
  const v1::PlanJobResponse response = backend->PlanJob(request);
  if (!save.empty()) WriteFile(save, ToJson(response));
  if (options.json()) {
    Print(ToJson(response));
  } else {
    PlanOrigin origin;
    origin.served_from = ServedFrom(response, *backend);
    if (!response.label().empty()) origin.served_from += ", label \"" + response.label() + "\"";
    origin.command = CommandLine(options.arguments);
    Print(RenderPlan(StyleOf(options), response.plan(), origin));
  }
  return response.plan().has_misfit() ? ExitCode::kDoesNotFit : ExitCode::kOk;
}

void RunValidate(const GlobalOptions& options, const JobFlags& flags) {
  v1::PlanJobRequest request = RequestFromFlags(flags);
  request.set_validate_only(true);
  const v1::PlanJobResponse response = BackendOf(options)->PlanJob(request);
  Print(options.json() ? ToJson(response) : fmt::format("valid: {}\n", response.plan_id()));
}

}  // namespace

void AddPlanCommands(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code) {
  struct State {
    JobFlags flags;
    std::string save;
  };
  const auto state = std::make_shared<State>();
  CLI::App* plan = app->add_subcommand("plan", "Plan a training job");
  plan->footer(
      "Three flags are enough:\n"
      "  evenkeelctl plan --model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 32\n"
      "Returns 1 if the job does not fit; the answer then says what would help.");
  AddJobFlags(plan, &state->flags);
  plan->add_option("--save", state->save, "Also write the answer, as protobuf JSON")
      ->type_name("FILE")
      ->take_last();
  plan->callback(
      [state, options, exit_code] { *exit_code = RunPlan(*options, state->flags, state->save); });

  const auto flags = std::make_shared<JobFlags>();
  CLI::App* validate =
      app->add_subcommand("validate", "Check a job: its plan id, or everything wrong with it");
  AddJobFlags(validate, flags.get());
  validate->callback([flags, options] { RunValidate(*options, *flags); });
}

}  // namespace evenkeel::cli
