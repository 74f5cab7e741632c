// `plan` and `validate`.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/base/output_file.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/commands/commands.h"
#include "client/cli/job/job_flags.h"
#include "client/cli/launch/launch_command.h"
#include "client/cli/render/evaluation.h"
#include "client/cli/render/methods.h"
#include "client/cli/render/offers.h"
#include "client/cli/render/plan.h"
#include "client/cli/timeline/timeline_files.h"

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

struct PlanFlags {
  JobFlags job;
  std::string save;
  std::vector<std::string> launch;  // names of launch_command.h
  TimelineFlags timeline;
  bool compare = false;
};

// Compares, in a table, our plan with those of the published methods, which cut a pipeline under
// 1F1B.
std::string CompareMethods(const Style& style, const v1::PlanJobRequest& request,
                           Backend* backend) {
  std::vector<v1::Plan> plans;
  v1::PlanJobRequest other = request;
  other.set_max_alternatives(0);
  other.set_compare_sizes(false);
  other.set_compare_precisions(false);
  other.set_compare_shardings(false);
  v1::Constraints* constraints = other.mutable_job()->mutable_constraints();
  constraints->set_schedule(v1::PIPELINE_SCHEDULE_1F1B);
  constraints->clear_virtual_stages();
  for (const v1::PartitionMethod method : PartitionMethods()) {
    constraints->set_partition_method(method);
    plans.push_back(backend->PlanJob(other).plan());
  }
  return RenderMethods(style, plans);
}

std::vector<std::string> WriteFiles(const PlanFlags& flags, const v1::Job& job,
                                    const v1::Plan& plan, Backend* backend) {
  if (!flags.timeline.any()) return {};
  if (plan.has_misfit()) return {};
  const auto evaluated = backend->EvaluatePlan(TimelineRequest(job, plan));
  return WriteTimeline(flags.timeline, plan, evaluated.timeline());
}

// Returns the command that plans one of several offers alone.
CommandLine OneOffer(const CommandLine& command, const v1::PlanSubject& subject) {
  const CommandLine one = command.Without("--pool")
                              .With("--gpu", subject.gpu_type())
                              .With("--gpus", std::to_string(subject.gpu_count()));
  const double price = subject.price_per_gpu_hour();
  return price > 0 ? one.With("--price", fmt::format("{}", price)) : one.Without("--price");
}

// Returns the reason why requested files are missing, or "".
std::string NothingWritten(const PlanFlags& flags, const v1::Plan& plan) {
  if (!flags.timeline.any() || !plan.has_misfit()) return "";
  return fmt::format("\nNo {} was written: the job does not fit.\n",
                     flags.timeline.report.empty() ? "trace" : "report");
}

// Refuses several offers, because a picture shows one plan and EvaluatePlan takes one offer.
void CheckOneOffer(const PlanFlags& flags, const v1::PlanJobRequest& request) {
  const v1::Cluster& cluster = request.job().cluster();
  const bool one = cluster.pools_size() == 0 ||
                   (cluster.pools_size() == 1 && cluster.pools(0).gpu_counts_size() <= 1);
  if (flags.compare && request.job().constraints().stage_layers_size() > 0)
    throw CommandError(ExitCode::kBadInput,
                       "--compare cuts the model by other methods, but --stage-layers fixes the "
                       "cut: leave one out");
  if (one || !(flags.compare || flags.timeline.any())) return;
  throw CommandError(
      ExitCode::kBadInput,
      "--trace, --report and --compare are about one plan: give one pool with one number of "
      "GPUs, such as that of the best offer");
}

ExitCode RunPlan(const GlobalOptions& options, const PlanFlags& flags) {
  CheckTimelineFlags(flags.timeline);
  CheckMayWrite(flags.save, flags.timeline.force);
  v1::PlanJobRequest request = RequestFromFlags(flags.job);
  request.set_validate_only(false);
  AddLaunchFrameworks(flags.launch, flags.job, request.mutable_job());
  CheckOneOffer(flags, request);
  const auto backend = BackendOf(options);
  const v1::PlanJobResponse response = backend->PlanJob(request);
  if (!flags.save.empty()) WriteVisibleText(flags.save, ToJson(response));
  const std::vector<std::string> written =
      WriteFiles(flags, request.job(), response.plan(), backend.get());
  if (options.json()) {
    Print(ToJson(response));
  } else {
    PlanOrigin origin;
    origin.served_from = ServedFrom(response, *backend);
    if (!response.label().empty()) origin.served_from += ", label \"" + response.label() + "\"";
    origin.served_from += UnconfirmedText(response);
    const CommandLine command(options.arguments);
    origin.command = command;
    const Style style = StyleOf(options);
    if (response.offers_size() > 0) {
      origin.of_offer = OneOffer(command, response.plan().subject());
      origin.comparison = RenderOffers(style, response);
    }
    Print(RenderPlan(style, response.plan(), origin) + NothingWritten(flags, response.plan()) +
          (flags.compare ? CompareMethods(style, request, backend.get()) : "") +
          RenderWritten(style, written));
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
  const auto plan_flags = std::make_shared<PlanFlags>();
  CLI::App* plan = app->add_subcommand("plan", "Plan a training job");
  plan->footer(
      "Three flags describe a job:\n"
      "  evenkeelctl plan --local --model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 32\n"
      "Returns 1 if the job does not fit; the answer then says what would help.\n"
      "`evenkeelctl --help` lists options that every command takes (--local, --server, --output, "
      "...).");
  AddJobFlags(plan, &plan_flags->job);
  plan->add_option("--save", plan_flags->save, "Also write the answer to FILE as protobuf JSON")
      ->type_name("FILE")
      ->take_last();
  AddLaunchOption(plan, &plan_flags->launch,
                  "Also make the settings of these trainers, which `launch --plan FILE` prints");
  AddTimelineFlags(plan, &plan_flags->timeline);
  plan->add_flag("--compare", plan_flags->compare,
                 "Also plan with published methods to cut the model into stages, and compare");
  plan->callback([=] { *exit_code = RunPlan(*options, *plan_flags); });

  const auto flags = std::make_shared<JobFlags>();
  CLI::App* validate = app->add_subcommand(
      "validate", "Check a job: print its plan id, or everything that is wrong with it");
  AddJobFlags(validate, flags.get());
  validate->callback([flags, options] { RunValidate(*options, *flags); });
}

}  // namespace evenkeel::cli
