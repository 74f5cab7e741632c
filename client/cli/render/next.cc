// Shows the next steps of the reader: remedies of a misfit as flags, and command lines to run.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/memory.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

template <auto kField>
std::string NumberOf(const v1::Remedy& remedy) {
  const auto number = (remedy.*kField)();
  return number == 0 ? "" : std::to_string(number);
}

template <const char* kWord>
std::string Always(const v1::Remedy&) {
  return kWord;
}

constexpr char kAuto[] = "auto", kOn[] = "on", kOff[] = "off", k16Bit[] = "16bit", kStates[] = "1",
               kWeights[] = "3";

std::string GpuType(const v1::Remedy& remedy) { return remedy.gpu_type(); }
std::string HostGib(const v1::Remedy& remedy) {
  return std::to_string(remedy.host_memory_bytes() >> 30);
}
std::string StageLayers(const v1::Remedy& remedy) {
  return absl::StrJoin(remedy.stage_layers(), ",");
}
std::string PrecisionOf(const v1::Remedy& remedy) { return PrecisionName(remedy.precision()); }

// The effect of a remedy on a flag. kReplaced is left out of the text, because another flag of the
// remedy takes its place. kAtMost leaves only the upper end of a range.
enum class FlagChange { kSet, kSwitchedOn, kDropped, kReplaced, kAtMost };

// A kind may have several rows.
struct RemedyFlag {
  v1::RemedyKind kind;
  const char* flag;
  FlagChange change;
  std::string (*value)(const v1::Remedy&) = nullptr;  // of kSet; "" leaves the flag as it is
};
constexpr RemedyFlag kRemedyFlags[] = {
    {v1::REMEDY_KIND_MORE_GPUS, "--gpus", FlagChange::kSet, NumberOf<&v1::Remedy::gpu_count>},
    {v1::REMEDY_KIND_SMALLER_CAPS, "--unit-cap", FlagChange::kSet, NumberOf<&v1::Remedy::unit_cap>},
    {v1::REMEDY_KIND_SMALLER_CAPS, "--token-cap", FlagChange::kSet,
     NumberOf<&v1::Remedy::token_cap>},
    {v1::REMEDY_KIND_ALLOW_RECOMPUTE, "--recompute", FlagChange::kSet, Always<kAuto>},
    {v1::REMEDY_KIND_SHARD_OPTIMIZER, "--zero", FlagChange::kSet, Always<kStates>},
    {v1::REMEDY_KIND_FREE_DEGREES, "--tp", FlagChange::kDropped},
    {v1::REMEDY_KIND_FREE_DEGREES, "--pp", FlagChange::kDropped},
    {v1::REMEDY_KIND_FREE_DEGREES, "--dp", FlagChange::kDropped},
    {v1::REMEDY_KIND_FREE_DEGREES, "--stage-layers", FlagChange::kDropped},
    {v1::REMEDY_KIND_FREE_DEGREES, "--partition", FlagChange::kDropped},
    {v1::REMEDY_KIND_FREE_DEGREES, "--virtual-stages", FlagChange::kAtMost},
    {v1::REMEDY_KIND_FREE_DEGREES, "--cp", FlagChange::kAtMost},
    {v1::REMEDY_KIND_FREE_DEGREES, "--ep", FlagChange::kAtMost},
    {v1::REMEDY_KIND_FREE_DEGREES, "--encoder-dp", FlagChange::kAtMost},
    {v1::REMEDY_KIND_LARGER_GPU, "--gpu", FlagChange::kSet, GpuType},
    {v1::REMEDY_KIND_CONTEXT_PARALLEL, "--cp", FlagChange::kDropped},
    {v1::REMEDY_KIND_EXPERT_PARALLEL, "--ep", FlagChange::kDropped},
    {v1::REMEDY_KIND_SHARD_WEIGHTS, "--zero", FlagChange::kSet, Always<kWeights>},
    {v1::REMEDY_KIND_STAGE_LAYERS, "--partition", FlagChange::kReplaced},
    {v1::REMEDY_KIND_STAGE_LAYERS, "--stage-layers", FlagChange::kSet, StageLayers},
    {v1::REMEDY_KIND_FREE_SCHEDULE, "--schedule", FlagChange::kDropped},
    {v1::REMEDY_KIND_SMALLER_MICRO_BATCH, "--micro-batch-samples", FlagChange::kSet,
     NumberOf<&v1::Remedy::micro_batch_samples>},
    {v1::REMEDY_KIND_OFFLOAD_OPTIMIZER, "--offload-optimizer", FlagChange::kSet, Always<kAuto>},
    {v1::REMEDY_KIND_GRADIENTS_16BIT, "--gradients", FlagChange::kSet, Always<k16Bit>},
    {v1::REMEDY_KIND_OFFLOAD_ACTIVATIONS, "--offload-activations", FlagChange::kSet, Always<kAuto>},
    {v1::REMEDY_KIND_FUSED_STEP, "--fused-step", FlagChange::kSet, Always<kOn>},
    {v1::REMEDY_KIND_SEPARATE_STEP, "--fused-step", FlagChange::kSet, Always<kOff>},
    {v1::REMEDY_KIND_SMALLER_BATCH, "--global-batch", FlagChange::kSet,
     NumberOf<&v1::Remedy::global_batch_samples>},
    {v1::REMEDY_KIND_LOWER_PRECISION, "--precision", FlagChange::kSet, PrecisionOf},
    {v1::REMEDY_KIND_OFFLOAD_MODULES, "--offload-modules", FlagChange::kSet, Always<kAuto>},
    {v1::REMEDY_KIND_MORE_HOST_MEMORY, "--host-memory-gib", FlagChange::kSet, HostGib},
    {v1::REMEDY_KIND_OFFLOAD_WEIGHTS, "--offload-weights", FlagChange::kSwitchedOn}};

// A command with a remedy, and the flags by themselves.
class AppliedRemedy {
 public:
  AppliedRemedy(const v1::Remedy& remedy, const CommandLine& command) : command_(command) {
    for (const RemedyFlag& row : kRemedyFlags)
      if (row.kind == remedy.kind()) Apply(row, remedy);
  }

  const CommandLine& command() const { return command_; }
  const std::string& flags() const { return flags_; }

 private:
  void Apply(const RemedyFlag& row, const v1::Remedy& remedy) {
    switch (row.change) {
      case FlagChange::kSet: {
        const std::string value = row.value(remedy);
        if (value.empty()) return;
        command_ = command_.With(row.flag, value);
        return AddText(fmt::format("{} {}", row.flag, value));
      }
      case FlagChange::kSwitchedOn:
        command_ = command_.With(row.flag);
        return AddText(row.flag);
      case FlagChange::kAtMost:
        return LowerTo1(row.flag);
      case FlagChange::kDropped:
        return Drop(row.flag);
      case FlagChange::kReplaced:
        command_ = command_.Without(row.flag);
    }
  }
  void Drop(const char* flag) {
    if (!command_.Has(flag)) return;
    command_ = command_.Without(flag);
    AddText(flags_.empty() ? fmt::format("without {}", flag) : flag);
  }
  // "4" and "2:4" become "1:4", and "2:" is dropped.
  void LowerTo1(const char* flag) {
    if (!command_.Has(flag)) return;
    const std::string range = command_.ValueOf(flag);
    const std::string most = range.substr(range.find(':') + 1);
    if (range == "1" || range == "1:" + most) return;
    if (most.empty()) return Drop(flag);
    command_ = command_.With(flag, "1:" + most);
    AddText(fmt::format("{}{} 1:{}", flags_.empty() ? "" : "and ", flag, most));
  }
  void AddText(const std::string& text) { flags_ += (flags_.empty() ? "" : " ") + text; }

  CommandLine command_;
  std::string flags_;
};

}  // namespace

std::string RenderMisfit(const Style& style, const v1::Plan& plan, const CommandLine& command) {
  const v1::Misfit& misfit = plan.misfit();
  const bool memory = misfit.micro_batches() == 0;
  std::string text =
      Section(style, "Why it does not fit",
              memory ? ParallelismText(misfit.parallelism()) + " comes nearest" : "");
  text += Paragraph(style, Plain(style, MisfitText(misfit)));
  if (memory) text += MemoryBars(style, misfit.memory(), misfit.capacity_bytes());
  text += Section(style, "Changes that make it fit",
                  misfit.remedies_size() > 0 ? "each was tried and fits" : "");
  if (misfit.remedies_size() == 0) {
    text += Paragraph(style, "None of the changes that were tried makes it fit.");
  }
  std::vector<std::pair<std::string, std::string>> changes;
  for (const v1::Remedy& remedy : misfit.remedies()) {
    std::string change = Plain(style, WithThousands(remedy.text()));
    if (const std::string flags = AppliedRemedy(remedy, command).flags(); !flags.empty())
      change += " (" + Paint(style, Tone::kAccent, Plain(style, flags)) + ")";
    changes.emplace_back(fmt::format("{}.", changes.size() + 1), change);
  }
  return text + NameValues(style, changes);
}

namespace {

// Returns whether the plan's model has layers of experts, whose degree the others leave open.
bool HasExperts(const v1::Plan& plan) {
  for (const v1::Stage& stage : plan.stages())
    for (const v1::LayerGroup& group : stage.layers())
      if (group.kind() == v1::LAYER_KIND_MOE) return true;
  return false;
}

// Returns the command that plans the first alternative: of the splits with these degrees, it is the
// best of the plan's packs. Degrees that follow from the others stay as they are.
CommandLine RunnerUp(const v1::Plan& plan, const CommandLine& command) {
  const v1::Parallelism& ours = plan.parallelism();
  const v1::Parallelism& other = plan.alternatives(0).parallelism();
  const struct {
    const char* flag;
    int32_t own, degree;
    bool open;  // whether the other degrees leave it open
  } degrees[] = {
      {"--tp", ours.tensor(), other.tensor(), true},
      {"--pp", ours.pipeline(), other.pipeline(), true},
      {"--dp", ours.data(), other.data(), true},
      {"--cp", ours.context(), other.context(), false},
      {"--ep", ours.expert(), other.expert(), HasExperts(plan)},
      {"--virtual-stages", ours.virtual_stages(), other.virtual_stages(), other.pipeline() > 1},
      {"--encoder-dp", ours.encoder_data(), other.encoder_data(),
       plan.has_encoder_data_gain_ratio()}};
  CommandLine line = command;
  for (const auto& [flag, own, degree, open] : degrees) {
    const int32_t value = std::max(1, degree);
    if (open || own > 1 || value > 1 || command.Has(flag))
      line = line.With(flag, std::to_string(value));
  }
  if (plan.subject().micro_batch_samples() > 0) return line;
  if (plan.packing_groups_size() > 0)
    line = line.With("--groups", "one")
               .With("--order-window", std::to_string(plan.batch_rule().order_window()));
  const auto set_cap = [&](const char* flag, int64_t cap) {
    if (cap > 0 && !command.Has(flag)) line = line.With(flag, std::to_string(cap));
  };
  set_cap("--unit-cap", plan.batch_rule().unit_cap());
  set_cap("--token-cap", plan.batch_rule().token_cap());
  return line;
}

using WhyAndCommand = std::pair<std::string, std::string>;

std::vector<WhyAndCommand> AfterMisfit(const v1::Plan& plan, const CommandLine& command) {
  for (const v1::Remedy& remedy : plan.misfit().remedies()) {
    const AppliedRemedy applied(remedy, command);
    if (!applied.flags().empty())
      return {{"with the first of these changes", applied.command().Text()}};
  }
  return {};
}

}  // namespace

std::string RenderNextCommands(const Style& style, const v1::Plan& plan, const CommandLine& command,
                               const std::optional<CommandLine>& of_offer) {
  const CommandLine& alone = of_offer ? *of_offer : command;
  std::vector<WhyAndCommand> commands;
  if (plan.has_misfit()) {
    commands = AfterMisfit(plan, alone);
  } else {
    if (!command.Has("--dataset") && !command.Has("--job")) {
      commands.emplace_back("with your own sample lengths (see `evenkeelctl stats --help`)",
                            command.With("--dataset", "LENGTHS.json").Text());
    }
    if (plan.alternatives_size() > 0 && !command.Has("--stage-layers")) {
      commands.emplace_back(plan.packing_groups_size() > 0
                                ? "the first alternative in full: all samples in one group"
                                : "the first alternative in full",
                            RunnerUp(plan, alone).Text());
    }
    if (of_offer) {
      commands.emplace_back("the best offer alone, with pictures of a step",
                            alone.With("--report", "report.html").Text());
    } else {
      const v1::PlanSubject& subject = plan.subject();
      const CommandLine twice =
          command.Without("--dp").With("--gpus", std::to_string(2 * subject.gpu_count()));
      commands.emplace_back("on twice the GPUs",
                            command.Has("--pool")
                                ? twice.Without("--pool").With("--gpu", subject.gpu_type()).Text()
                                : twice.Text());
    }
  }
  commands.emplace_back("for programs", command.With("--output", "json").Text());
  std::string text = Section(style, "Next commands");
  for (const auto& [why, line] : commands) {
    text += Paint(style, Tone::kDim, "  # " + why) + "\n  " + Plain(style, line) + "\n";
  }
  return text;
}

}  // namespace evenkeel::cli
