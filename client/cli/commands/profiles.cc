// `profile record`, `profile drift`, `profile list` and `profile roll-back`.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/command_error.h"
#include "client/cli/base/flags.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/base/table.h"
#include "client/cli/collectives/nccl_tests.h"
#include "client/cli/commands/commands.h"
#include "client/cli/job/job_flags.h"
#include "client/cli/render/profiles.h"
#include "planner/space/parallelism.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kLargestFile = size_t{4} << 20;

struct RecordFlags {
  std::vector<std::string> files;
  std::string author;
  bool dry_run = false;
  NcclFacts facts;
  double inter_node_gbps = 0;
};

// Reads a RecordProfileRequest, or outputs of nccl-tests into one.
v1::RecordProfileRequest ReadRecord(const RecordFlags& flags) {
  v1::RecordProfileRequest request;
  NcclFacts facts = flags.facts;
  facts.inter_node_bytes_per_second = flags.inter_node_gbps * 1e9 / 8;
  const bool said = !facts.collective.empty() || !facts.gpu_type.empty() || facts.ranks != 0 ||
                    facts.nodes != 0 || flags.inter_node_gbps != 0;
  for (const std::string& file : flags.files) {
    const std::string text = ReadWholeFile(file, kLargestFile);
    if (IsNcclOutput(text)) {
      AddNcclOutput(text, file, facts, &request);
    } else if (flags.files.size() > 1 || said) {
      throw CommandError(ExitCode::kBadInput,
                         file +
                             ": a RecordProfileRequest says everything itself: record it alone, "
                             "without --collective, --gpu, --ranks, --nodes and "
                             "--inter-node-gbps, which are for outputs of nccl-tests");
    } else {
      FromJson(text, file, &request);
    }
  }
  return request;
}

// Fails if nothing was recorded, for any reason, so that a script does not continue.
ExitCode RunRecord(const GlobalOptions& options, const RecordFlags& flags) {
  v1::RecordProfileRequest request = ReadRecord(flags);
  if (flags.dry_run) request.set_dry_run(true);
  if (!flags.author.empty()) request.set_author(flags.author);
  const v1::RecordProfileResponse response = BackendOf(options)->RecordProfile(request);
  Print(options.json() ? ToJson(response) : RenderRecorded(StyleOf(options), request, response));
  const bool accepted = response.timed_layer_count() + response.probe_count() +
                            response.outcome_count() + response.collective_count() >
                        0;
  return accepted ? ExitCode::kOk : ExitCode::kBadInput;
}

struct DriftFlags {
  std::string file;
  std::string job;
  bool record = false;
};

// Plans the job again, with the recorded profile.
std::string PlanAgain(const GlobalOptions& options, Backend& backend, const DriftFlags& flags,
                      const v1::RecordProfileResponse& recorded) {
  JobFlags job;
  job.job_file = flags.job;
  v1::PlanJobRequest request = RequestFromFlags(job);
  request.set_min_calibration_revision(recorded.revision());
  const v1::PlanJobResponse answer = backend.PlanJob(request);
  if (answer.plan().has_misfit()) return "Planned again: the job no longer fits.\n";
  const bool same = recorded.drifts_size() > 0 && recorded.drifts(0).plan_id() == answer.plan_id();
  return Paragraph(
      StyleOf(options),
      fmt::format("Planned again with what is recorded: {}, {} per step{}.", answer.plan_id(),
                  Duration(answer.plan().predictions().step().total_seconds()),
                  same ? ", the same plan" : ""));
}

// Fails if no outcome could be compared with its plan.
ExitCode RunDrift(const GlobalOptions& options, const DriftFlags& flags) {
  v1::RecordProfileRequest request;
  FromJson(ReadWholeFile(flags.file, kLargestFile), flags.file, &request);
  request.set_dry_run(!flags.record);
  const auto backend = BackendOf(options);
  const v1::RecordProfileResponse response = backend->RecordProfile(request);
  if (options.json()) {
    Print(ToJson(response));
  } else {
    std::string text = RenderDrift(StyleOf(options), response);
    if (flags.record) text += RenderRecorded(StyleOf(options), request, response);
    if (!flags.job.empty()) text += PlanAgain(options, *backend, flags, response);
    Print(text);
  }
  return response.drifts_size() > 0 ? ExitCode::kOk : ExitCode::kBadInput;
}

void RunList(const GlobalOptions& options, const v1::ListProfilesRequest& request) {
  const v1::ListProfilesResponse response = BackendOf(options)->ListProfiles(request);
  Print(options.json() ? ToJson(response) : RenderHistory(StyleOf(options), response));
}

void RunRollBack(const GlobalOptions& options, const v1::RollBackProfileRequest& request) {
  const v1::RollBackProfileResponse response = BackendOf(options)->RollBackProfile(request);
  Print(options.json() ? ToJson(response) : RenderRolledBack(response));
}

// Declares flags for facts that an output of nccl-tests may leave out.
void AddNcclFlags(CLI::App* record, RecordFlags* flags) {
  const char* const group = "Outputs of nccl-tests";
  NcclFacts& facts = flags->facts;
  Add(record, "--collective", &facts.collective, "NAME", "What was measured [as the output says]",
      group)
      ->check(CLI::IsMember(CollectiveNames()).description(""));
  Add(record, "--gpu", &facts.gpu_type, "TYPE", "GPU type [as the output says]", group);
  Add(record, "--ranks", &facts.ranks, "N", "Ranks that took part [as the output says]", group)
      ->check(Whole(2, planner::kGpusAtMost));
  Add(record, "--nodes", &facts.nodes, "N", "Nodes on which they ran [as the output says]", group)
      ->check(Whole(1, 65536));
  Add(record, "--inter-node-gbps", &flags->inter_node_gbps, "GBIT/S",
      "Gigabits per second between nodes, per GPU and direction: only jobs on such a network then "
      "use the times [all jobs]",
      group)
      ->check(Real(0.08, 80000));
}

void AddRecord(CLI::App* profile, const GlobalOptions* options, ExitCode* exit_code) {
  const auto flags = std::make_shared<RecordFlags>();
  CLI::App* record =
      profile->add_subcommand("record", "Record what was measured; later plans use it");
  record->footer(
      "client/python/evenkeel_profile.py measures layers and writes such a file.\n"
      "Outputs of nccl-tests (all_gather_perf, reduce_scatter_perf, all_reduce_perf, alltoall_perf "
      "and sendrecv_perf) hold for all models on their GPU type.\n"
      "Returns 2 if nothing was accepted; the answer says why.");
  record
      ->add_option("FILE", flags->files,
                   "A RecordProfileRequest in protobuf JSON, or outputs of nccl-tests, as text or "
                   "JSON (-J); -: standard input")
      ->required();
  AddNcclFlags(record, flags.get());
  record->add_flag("--dry-run", flags->dry_run, "Only show the effect; record nothing");
  record->add_option("--author", flags->author, "Who measured [as the file says]")
      ->type_name("NAME");
  record->callback([=] { *exit_code = RunRecord(*options, *flags); });
}

void AddDrift(CLI::App* profile, const GlobalOptions* options, ExitCode* exit_code) {
  const auto flags = std::make_shared<DriftFlags>();
  CLI::App* drift = profile->add_subcommand(
      "drift", "Compare measured steps with their plans, and name the part that differs");
  drift->footer("Returns 2 if no step outcome could be compared with its plan.");
  drift
      ->add_option("FILE", flags->file,
                   "A RecordProfileRequest with step_outcomes in protobuf JSON; -: standard input")
      ->required();
  drift->add_option("--job", flags->job, "Also plan this job again, with what is recorded")
      ->type_name("FILE");
  drift->add_flag("--record", flags->record, "Record the outcomes first");
  drift->callback([=] { *exit_code = RunDrift(*options, *flags); });
}

void AddList(CLI::App* profile, const GlobalOptions* options) {
  struct Flags {
    int page_size = 0;
    std::string page_token, filter;
    bool active = false, measurements = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* list = profile->add_subcommand("list", "List what was recorded, newest first");
  list->add_option("FILTER", flags->filter, "Only models whose name contains this");
  list->add_flag("--active", flags->active, "Only what is in force");
  list->add_flag("--measurements", flags->measurements, "With all values (for --output json)");
  list->add_option("--page-size", flags->page_size, "Maximum number of revisions to show [50]")
      ->type_name("N");
  list->add_option("--page-token", flags->page_token, "Where the previous page ended")
      ->type_name("TOKEN");
  list->callback([=] {
    v1::ListProfilesRequest request;
    request.set_page_size(flags->page_size);
    request.set_page_token(flags->page_token);
    request.set_model_filter(flags->filter);
    request.set_active_only(flags->active);
    request.set_include_measurements(flags->measurements);
    RunList(*options, request);
  });
}

void AddRollBack(CLI::App* profile, const GlobalOptions* options) {
  struct Flags {
    int64_t revision = 0;
    bool only = false;
    std::string author;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* roll_back = profile->add_subcommand(
      "roll-back", "Restore the state after a revision, or remove one revision");
  roll_back
      ->add_option(
          "REVISION", flags->revision,
          "The revision to restore (0: nothing in force), or with --remove the one to remove")
      ->required();
  roll_back->add_flag("--remove", flags->only,
                      "Remove only this revision; removing a roll-back undoes it");
  roll_back->add_option("--author", flags->author, "Who rolls back")->type_name("NAME");
  roll_back->callback([=] {
    v1::RollBackProfileRequest request;
    if (flags->only) {
      request.set_remove_revision(flags->revision);
    } else {
      request.set_to_revision(flags->revision);
    }
    request.set_author(flags->author);
    RunRollBack(*options, request);
  });
}

}  // namespace

void AddProfileCommands(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code) {
  CLI::App* profile =
      app->add_subcommand("profile", "Record what was measured, list it, take it back");
  profile->require_subcommand(1);
  profile->fallthrough();
  AddRecord(profile, options, exit_code);
  AddDrift(profile, options, exit_code);
  AddList(profile, options);
  AddRollBack(profile, options);
}

}  // namespace evenkeel::cli
