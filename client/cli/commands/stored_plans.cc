// `get` and `list`: plans that a server keeps.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "client/cli/base/proto_json.h"
#include "client/cli/commands/commands.h"
#include "client/cli/render/fitting_table.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/profiles.h"

namespace evenkeel::cli {
namespace {

ExitCode RunGet(const GlobalOptions& options, const std::string& plan_id) {
  v1::GetPlanRequest request;
  request.set_plan_id(plan_id);
  const auto backend = BackendOf(options);
  const v1::GetPlanResponse response = backend->GetPlan(request);
  if (options.json()) {
    Print(ToJson(response));
  } else {
    PlanOrigin origin;
    origin.served_from =
        fmt::format("computed by {} on {}", backend->name(), LocalTime(response.create_time()));
    Print(RenderPlan(StyleOf(options), response.plan(), origin));
  }
  return response.plan().has_misfit() ? ExitCode::kDoesNotFit : ExitCode::kOk;
}

std::string PlanTable(const Style& style, const v1::ListPlansResponse& response) {
  FittingTable table({{"plan", Align::kLeft},
                      {"computed", Align::kLeft, 1},
                      {"model", Align::kLeft},
                      {"GPU", Align::kLeft},
                      {"GPUs"},
                      {"step", Align::kRight, 3},
                      {"GPU-days", Align::kRight, 2}});
  for (const v1::PlanSummary& plan : response.plans()) {
    table.Add({plan.plan_id(), LocalTime(plan.create_time()), Plain(style, plan.model()),
               Plain(style, plan.gpu_type()), Integer(plan.gpu_count()),
               plan.fits() ? Duration(plan.step_seconds()) : "no fit",
               plan.fits() ? Significant(plan.gpu_days()) : "-"});
  }
  return table.Render(style);
}

void RunList(const GlobalOptions& options, const v1::ListPlansRequest& request) {
  const v1::ListPlansResponse response = BackendOf(options)->ListPlans(request);
  if (options.json()) {
    Print(ToJson(response));
    return;
  }
  if (response.plans_size() == 0) {
    Print("No plans yet.\n");
    return;
  }
  std::string text = PlanTable(StyleOf(options), response);
  if (!response.next_page_token().empty()) {
    text += fmt::format("There are more: --page-token {}\n", response.next_page_token());
  }
  Print(text);
}

}  // namespace

void AddStoredPlanCommands(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code) {
  const auto plan_id = std::make_shared<std::string>();
  CLI::App* get = app->add_subcommand("get", "Show a plan that the server keeps");
  get->add_option("PLAN_ID", *plan_id, "Id of the plan, as `plan` and `list` show it")->required();
  get->callback([=] { *exit_code = RunGet(*options, *plan_id); });

  struct Paging {
    int page_size = 0;
    std::string page_token;
  };
  const auto paging = std::make_shared<Paging>();
  CLI::App* list =
      app->add_subcommand("list", "List the plans that the server keeps, newest first");
  list->add_option("--page-size", paging->page_size, "Maximum number of plans to show [50]")
      ->type_name("N");
  list->add_option("--page-token", paging->page_token, "Where the previous page ended")
      ->type_name("TOKEN");
  list->callback([=] {
    v1::ListPlansRequest request;
    request.set_page_size(paging->page_size);
    request.set_page_token(paging->page_token);
    RunList(*options, request);
  });
}

}  // namespace evenkeel::cli
