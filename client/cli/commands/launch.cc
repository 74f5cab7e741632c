// `launch`: settings for trainers, and Kubernetes manifests.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/output_file.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/plan_file.h"
#include "client/cli/job/job_flags.h"
#include "client/cli/launch/launch_command.h"
#include "client/cli/launch/manifest.h"

namespace evenkeel::cli {
namespace {

struct LaunchFlags {
  JobFlags job;
  std::string framework, plan_id, plan_file, output_dir, program;
  std::vector<std::string> variables;
  bool force = false;
  ManifestOptions manifest;
};

[[noreturn]] void Fail(const std::string& message) {
  throw CommandError(ExitCode::kBadInput, message);
}

// Returns the launch settings for `name`. They are part of a plan, so a plan that was made without
// them has none.
const v1::Launch& LaunchOf(const v1::Plan& plan, const std::string& name) {
  std::vector<std::string> there;
  for (const v1::Launch& launch : plan.launch()) {
    if (launch.framework() == FrameworkOf(name)) return launch;
    there.push_back(NameOf(launch.framework()));
  }
  Fail(fmt::format(
      "{} has no launch settings for {} (it has: {}). They are made with the plan: name the job "
      "here, by --job or flags, or plan it with --launch {} (launch_frameworks: [{}])",
      plan.plan_id(), name, there.empty() ? "none" : absl::StrJoin(there, ", "), name,
      v1::LaunchFramework_Name(FrameworkOf(name))));
}

v1::Plan PlanOf(const GlobalOptions& options, const LaunchFlags& flags) {
  if (!flags.plan_file.empty()) return ReadPlanFile(flags.plan_file);
  const auto backend = BackendOf(options);
  if (!flags.plan_id.empty()) {
    v1::GetPlanRequest request;
    request.set_plan_id(flags.plan_id);
    return backend->GetPlan(request).plan();
  }
  v1::PlanJobRequest request = RequestFromFlags(flags.job);
  request.set_validate_only(false);
  AddLaunchFrameworks({flags.framework}, flags.job, request.mutable_job());
  return backend->PlanJob(request).plan();
}

// Writes all files or none. It first looks for files that already exist.
void WriteFiles(const LaunchFlags& flags,
                const std::vector<std::pair<std::string, std::string>>& files) {
  std::filesystem::path folder(flags.output_dir);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    Fail(fmt::format("--output-dir: cannot make {}: {}", flags.output_dir, error.message()));
  for (const auto& [name, text] : files) CheckMayWrite((folder / name).string(), flags.force);
  for (const auto& [name, text] : files) {
    WriteWholeFile((folder / name).string(), text);
    Print("wrote " + (folder / name).string() + "\n");
  }
}

ExitCode RunLaunch(const GlobalOptions& options, const LaunchFlags& flags) {
  const bool stored = !flags.plan_id.empty() || !flags.plan_file.empty();
  if (!flags.plan_id.empty() && !flags.plan_file.empty())
    Fail("--plan-id and --plan name two plans: give one");
  if (stored && (!flags.job.job_file.empty() || !flags.job.model.empty()))
    Fail("--plan-id and --plan name a plan, --job and --model a job: give one of them");
  const v1::Plan plan = PlanOf(options, flags);
  if (plan.has_misfit()) {
    Print(fmt::format("# {} does not fit: {}\n", plan.plan_id(), plan.misfit().text()));
    return ExitCode::kDoesNotFit;
  }
  v1::Launch launch = LaunchOf(plan, flags.framework);
  AddVariables(flags.variables, &launch);
  const bool runs = launch.match() != v1::LAUNCH_MATCH_NONE;
  const bool manifest = !flags.manifest.kind.empty();
  const auto yaml = [&] {
    ManifestOptions manifest_options = flags.manifest;
    manifest_options.program = flags.program;
    return RenderManifest(plan, launch, manifest_options);
  };
  if (options.json()) {
    Print(ToJson(launch));
  } else if (!runs) {
    Print(RenderLaunch(plan, launch, flags.program, false));
  } else if (!flags.output_dir.empty()) {
    std::vector<std::pair<std::string, std::string>> files;
    for (const v1::LaunchFile& file : launch.files())
      files.emplace_back(file.name(), file.content());
    files.emplace_back("launch.sh",
                       "#!/bin/sh\n" + RenderLaunch(plan, launch, flags.program, true));
    if (manifest) files.emplace_back(flags.manifest.kind + ".yaml", yaml());
    WriteFiles(flags, files);
  } else {
    Print(manifest ? yaml() : RenderLaunch(plan, launch, flags.program, false));
  }
  return runs ? ExitCode::kOk : ExitCode::kDoesNotFit;
}

void AddManifestFlags(CLI::App* command, LaunchFlags* flags) {
  const char* const kManifest = "Manifest";
  const auto add = [&](const char* name, std::string* target, const char* type, const char* help) {
    return command->add_option(name, *target, help)->type_name(type)->group(kManifest)->take_last();
  };
  add("--manifest", &flags->manifest.kind, "pytorchjob|trainjob|jobset",
      "Print a Kubernetes manifest instead of a command line")
      ->check(CLI::IsMember({"pytorchjob", "trainjob", "jobset"}).description(""));
  add("--image", &flags->manifest.image, "IMAGE", "Container image with the trainer");
  add("--name", &flags->manifest.name, "NAME", "Name of the job [training]");
  add("--namespace", &flags->manifest.name_space, "NAME", "Namespace [the caller's]");
  add("--runtime", &flags->manifest.runtime, "NAME",
      "ClusterTrainingRuntime of a TrainJob [torch-distributed]");
  add("--gpu-resource", &flags->manifest.gpu_resource, "NAME",
      "What a pod requests for each GPU [nvidia.com/gpu]");
}

}  // namespace

void AddLaunchCommand(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code) {
  const auto flags = std::make_shared<LaunchFlags>();
  CLI::App* launch =
      app->add_subcommand("launch", "Write the settings with which a trainer runs a plan");
  launch->footer(
      "  evenkeelctl launch --framework megatron --model llama3-70b --gpu h100-sxm-80gb --gpus 64\n"
      "  evenkeelctl launch --framework torchtitan --job job.json --output-dir run\n"
      "  evenkeelctl launch --framework megatron --job job.json --manifest jobset --image IMAGE\n"
      "Comments say what the trainer cannot express and what that costs. Returns 1 if the job does "
      "not fit,\nor if the trainer cannot run it at all.");
  launch->add_option("--framework", flags->framework, "Trainer to write settings for")
      ->type_name("NAME")
      ->required()
      ->take_last()
      ->check(CLI::IsMember(LaunchNames()).description(""));
  launch
      ->add_option("--plan-id", flags->plan_id,
                   "A plan that the server keeps, made with `plan --launch`, in place of a job")
      ->type_name("ID")
      ->take_last();
  launch
      ->add_option("--plan", flags->plan_file,
                   "A plan that `plan --launch NAME --save FILE` wrote, in place of a job")
      ->type_name("FILE")
      ->take_last();
  launch
      ->add_option("--program", flags->program, "Your training program, in place of the trainer's")
      ->type_name("TEXT")
      ->take_last();
  launch
      ->add_option("--env", flags->variables, "A variable for the trainer's processes; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  launch->add_option("--output-dir", flags->output_dir, "Write launch.sh and all files there")
      ->type_name("FOLDER")
      ->take_last();
  launch->add_flag("--force", flags->force, "Overwrite existing files");
  AddManifestFlags(launch, flags.get());
  AddJobFlags(launch, &flags->job, "--training-framework");
  launch->callback([=] { *exit_code = RunLaunch(*options, *flags); });
}

}  // namespace evenkeel::cli
