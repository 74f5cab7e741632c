#include "client/cli/timeline/timeline_files.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "client/cli/base/command_error.h"
#include "client/cli/base/output_file.h"
#include "client/cli/timeline/chrome_trace.h"
#include "client/cli/timeline/pipeline_report.h"

namespace evenkeel::cli {
namespace {

const std::string& Checked(const std::string& text) {
  if (text.empty()) throw CommandError(ExitCode::kError, "the answer has no well-formed timeline");
  return text;
}

}  // namespace

void AddTimelineFlags(CLI::App* command, TimelineFlags* flags) {
  const char* const kFiles = "Files";
  command
      ->add_option("--trace", flags->trace,
                   "Write the simulated step as a trace for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE")
      ->group(kFiles)
      ->take_last();
  command
      ->add_option("--report", flags->report,
                   "Write a page with a picture of the pipeline, its times and memory")
      ->type_name("FILE")
      ->group(kFiles)
      ->take_last();
  command->add_flag("--force", flags->force, "Overwrite existing files")->group(kFiles);
}

void CheckTimelineFlags(const TimelineFlags& flags) {
  CheckMayWrite(flags.trace, flags.force);
  CheckMayWrite(flags.report, flags.force);
  if (!flags.trace.empty() && flags.trace == flags.report)
    throw CommandError(ExitCode::kBadInput, "--trace and --report name the same file");
}

v1::EvaluatePlanRequest TimelineRequest(const v1::Job& job, const v1::Plan& plan) {
  v1::EvaluatePlanRequest request;
  *request.mutable_job() = job;
  v1::Plan* own = request.mutable_plan();
  if (plan.has_parallelism()) *own->mutable_parallelism() = plan.parallelism();
  own->set_schedule(plan.schedule());
  for (const v1::Stage& stage : plan.stages())
    *own->add_stages()->mutable_layers() = stage.layers();
  v1::BatchRule* rule = own->mutable_batch_rule();
  rule->set_unit_cap(plan.batch_rule().unit_cap());
  rule->set_token_cap(plan.batch_rule().token_cap());
  rule->set_packer(plan.batch_rule().packer());
  rule->set_order_window(plan.batch_rule().order_window());
  if (plan.has_padded_batches())
    own->mutable_padded_batches()->set_micro_batch_samples(
        plan.padded_batches().micro_batch_samples());
  *own->mutable_packing_groups() = plan.packing_groups();
  if (plan.has_offload()) *own->mutable_offload() = plan.offload();
  if (plan.predictions().micro_batches() > 0)
    own->mutable_predictions()->set_micro_batches(plan.predictions().micro_batches());
  request.set_include_timeline(true);
  request.set_evaluate_only(true);
  return request;
}

std::vector<std::string> WriteTimeline(const TimelineFlags& flags, const v1::Plan& plan,
                                       const v1::Timeline& timeline) {
  std::vector<std::string> written;
  if (!flags.trace.empty()) {
    WriteWholeFile(flags.trace, Checked(ChromeTrace(plan, timeline)));
    written.push_back(flags.trace + ": one step, for ui.perfetto.dev or chrome://tracing");
  }
  if (!flags.report.empty()) {
    WriteWholeFile(flags.report, Checked(PipelineReport(plan, timeline)));
    written.push_back(flags.report + ": the report, to be opened in a browser");
  }
  return written;
}

}  // namespace evenkeel::cli
