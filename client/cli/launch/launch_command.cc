#include "client/cli/launch/launch_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "client/cli/base/command_error.h"
#include "client/cli/base/command_line.h"
#include "client/cli/base/environment.h"
#include "client/cli/base/text.h"
#include "planner/trainer/trainers.h"

namespace evenkeel::cli {
namespace {

constexpr int kCommentWidth = 110;

std::string Comment(const std::string& text) {
  std::string lines;
  for (const std::string& line : Wrap(text, kCommentWidth)) lines += "# " + line + "\n";
  return lines;
}

std::string DegreesText(const v1::Parallelism& p) {
  std::string text =
      fmt::format("tensor {} x pipeline {} x data {}", p.tensor(), p.pipeline(), p.data());
  if (p.context() > 1) text += fmt::format(" x context {}", p.context());
  if (p.expert() > 1) text += fmt::format(", expert {}", p.expert());
  if (p.encoder_data() > 1) text += fmt::format(", encoder data {}", p.encoder_data());
  if (p.virtual_stages() > 1) text += fmt::format(", {} virtual stages", p.virtual_stages());
  return text;
}

std::string MatchText(const v1::Plan& plan, const v1::Launch& launch) {
  const std::string name = NameOf(launch.framework());
  switch (launch.match()) {
    case v1::LAUNCH_MATCH_EXACT:
      return fmt::format("{} can run {} exactly: {}; predicted step: {}.", name, plan.plan_id(),
                         DegreesText(plan.parallelism()), Duration(launch.step_seconds()));
    case v1::LAUNCH_MATCH_NEAREST:
      return fmt::format(
          "{} cannot run {} exactly. These settings run the nearest plan that it can run: {}; "
          "predicted step: {}, {} {} per sample than the plan.",
          name, plan.plan_id(), DegreesText(launch.parallelism()), Duration(launch.step_seconds()),
          Percent(std::fabs(launch.slower_by_ratio())),
          launch.slower_by_ratio() < 0 ? "less" : "more");
    default:
      return fmt::format("{} cannot run {}.", name, plan.plan_id());
  }
}

// Returns an end mark that no line of the text equals.
std::string EndMark(const std::string& text) {
  std::string mark = "END_OF_FILE";
  while (("\n" + text).find("\n" + mark + "\n") != std::string::npos) mark += "_";
  return mark;
}

// Writes each option with its values on a line. Word `program` is the program, which also starts a
// line.
std::string CommandText(const std::vector<std::string>& words, size_t program) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool starts = words[i].rfind("--", 0) == 0 || i == program;
    if (i > 0) text += starts ? " \\\n    " : " ";
    text += words[i];
  }
  return text + "\n";
}

const LaunchTarget* TargetOf(const std::string& name) {
  for (const LaunchTarget& target : LaunchTargets())
    if (name == target.name) return &target;
  return nullptr;
}

// Returns whether the trainer has all that the job asks for.
bool Has(const planner::Trainer& trainer, const v1::Job& job) {
  const v1::Constraints& c = job.constraints();
  const auto admits_one = [](const v1::DegreeRange& range) { return range.min() <= 1; };
  const bool cuts =
      c.stage_layers_size() > 0 || c.partition_method() != v1::PARTITION_METHOD_UNSPECIFIED ||
      c.schedule() != v1::PIPELINE_SCHEDULE_UNSPECIFIED || !admits_one(c.pipeline_parallel());
  const bool shards = job.training().zero_stage() == v1::ZERO_STAGE_UNSPECIFIED ||
                      job.training().zero_stage() == v1::ZERO_STAGE_3;
  return (trainer.pipeline || (!cuts && shards)) &&
         ((trainer.pipeline && trainer.interleaves) || admits_one(c.virtual_stages())) &&
         (trainer.tensor_parallel || admits_one(c.tensor_parallel())) &&
         (trainer.expert_parallel || admits_one(c.expert_parallel()));
}

}  // namespace

const std::vector<LaunchTarget>& LaunchTargets() {
  static const auto* const kTargets = new std::vector<LaunchTarget>{
      {"megatron", v1::LAUNCH_FRAMEWORK_MEGATRON, nullptr},
      {"deepspeed", v1::LAUNCH_FRAMEWORK_DEEPSPEED, "megatron-deepspeed"},
      {"torchtitan", v1::LAUNCH_FRAMEWORK_TORCHTITAN, "torchtitan"},
      {"flagscale", v1::LAUNCH_FRAMEWORK_FLAGSCALE, nullptr},
      {"fsdp", v1::LAUNCH_FRAMEWORK_FSDP, "pytorch-fsdp"},
      {"xtuner", v1::LAUNCH_FRAMEWORK_XTUNER, "xtuner"}};
  return *kTargets;
}

std::vector<std::string> LaunchNames() {
  std::vector<std::string> names;
  for (const LaunchTarget& target : LaunchTargets()) names.emplace_back(target.name);
  return names;
}

std::string NameOf(v1::LaunchFramework framework) {
  for (const LaunchTarget& target : LaunchTargets()) {
    if (target.framework == framework) return target.name;
  }
  return v1::LaunchFramework_Name(framework);
}

v1::LaunchFramework FrameworkOf(const std::string& name) {
  const LaunchTarget* const target = TargetOf(name);
  return target == nullptr ? v1::LAUNCH_FRAMEWORK_UNSPECIFIED : target->framework;
}

void AddLaunchOption(CLI::App* command, std::vector<std::string>* names, const std::string& help) {
  command->add_option("--launch", *names, help)
      ->type_name("NAME[,NAME...]")
      ->delimiter(',')
      ->take_all()
      ->check(CLI::IsMember(LaunchNames()).description(""));
}

void AddLaunchFrameworks(const std::vector<std::string>& names, const JobFlags& flags,
                         v1::Job* job) {
  std::set<int> there(job->launch_frameworks().begin(), job->launch_frameworks().end());
  const std::set<std::string> different(names.begin(), names.end());
  for (const std::string& name : names)
    if (there.insert(FrameworkOf(name)).second) job->add_launch_frameworks(FrameworkOf(name));
  if (different.size() != 1 || !flags.framework.empty() || !flags.trainer.empty() ||
      !flags.job_file.empty())
    return;
  const LaunchTarget* const target = TargetOf(names.front());
  if (target != nullptr && target->trainer != nullptr &&
      Has(*planner::FindTrainer(target->trainer), *job))
    job->mutable_training()->mutable_trainer()->set_name(target->trainer);
}

std::vector<std::string> ProgramWords(const v1::Launch& launch, const std::string& program) {
  std::string text = program;
  if (text.empty()) text = launch.program().empty() ? "train.py" : launch.program();
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  words.insert(words.end(), launch.arguments().begin(), launch.arguments().end());
  return words;
}

void AddVariables(const std::vector<std::string>& given, v1::Launch* launch) {
  for (const std::string& text : given) {
    auto [name, value] = VariableOf(text);
    v1::LaunchVariable* variable = nullptr;
    for (v1::LaunchVariable& there : *launch->mutable_environment())
      if (there.name() == name) variable = &there;
    if (variable == nullptr) variable = launch->add_environment();
    variable->set_name(std::move(name));
    variable->set_value(std::move(value));
  }
}

std::string RenderLaunch(const v1::Plan& plan, const v1::Launch& launch, const std::string& program,
                         bool files_written) {
  std::string text = Comment(MatchText(plan, launch));
  for (const v1::LaunchNote& note : launch.notes()) {
    text += Comment(fmt::format("{}: {}", note.topic(), note.text()));
  }
  if (launch.match() == v1::LAUNCH_MATCH_NONE) return text;
  if (!files_written) {
    for (const v1::LaunchFile& file : launch.files()) {
      const std::string mark = EndMark(file.content());
      text +=
          fmt::format("cat > {} <<'{}'\n{}{}\n", Quoted(file.name()), mark, file.content(), mark);
    }
  }
  std::vector<std::string> words;
  // With exec, torchrun replaces the script, so that signals reach torchrun, for example in a pod.
  if (files_written) words.push_back(launch.environment().empty() ? "exec" : "exec env");
  for (const v1::LaunchVariable& variable : launch.environment())
    words.push_back(variable.name() + "=" + Quoted(variable.value()));
  words.push_back("torchrun");
  const v1::Placement& placement = plan.placement();
  const auto add = [&](const std::string& option, const std::string& value) {
    words.push_back(option);
    words.push_back(value);
  };
  if (placement.node_count() > 1) {
    add("--nnodes", std::to_string(placement.node_count()));
    add("--nproc-per-node", std::to_string(placement.gpus_per_node()));
    add("--node-rank", "\"$NODE_RANK\"");
    add("--master-addr", "\"$MASTER_ADDR\"");
    add("--master-port", "\"${MASTER_PORT:-29500}\"");
  } else {
    words.push_back("--standalone");
    add("--nproc-per-node", std::to_string(placement.gpus_per_node()));
  }
  const size_t at = words.size();
  for (const std::string& word : ProgramWords(launch, program)) words.push_back(Quoted(word));
  return text + CommandText(words, at);
}

}  // namespace evenkeel::cli
