// Shows what the reader can do next: remedies of a misfit as flags, and command lines to run
// next.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/memory.h"
#include "client/cli/render/plan.h"

namespace evenkeel::cli {
namespace {

constexpr const char* kDegreeFlags[] = {"--tp", "--pp", "--dp", "--stage-layers", "--partition"};

// A command with a remedy, and the flags by themselves.
class AppliedRemedy {
 public:
  AppliedRemedy(const v1::Remedy& remedy, const CommandLine& command) : command_(command) {
    ApplyDegreesAndPacks(remedy);
    ApplyTraining(remedy);
  }

  const CommandLine& command() const { return command_; }
  const std::string& flags() const { return flags_; }

 private:
  void Set(const std::string& flag, const std::string& value) {
    command_ = command_.With(flag, value);
    flags_ += (flags_.empty() ? "" : " ") + flag + " " + value;
  }
  void SetSwitch(const std::string& flag) {
    command_ = command_.With(flag);
    flags_ += (flags_.empty() ? "" : " ") + flag;
  }
  void Drop(const char* flag) {
    if (!command_.Has(flag)) return;
    command_ = command_.Without(flag);
    flags_ += fmt::format("{}{}", flags_.empty() ? "without " : " ", flag);
  }

  void ApplyDegreesAndPacks(const v1::Remedy& remedy) {
    switch (remedy.kind()) {
      case v1::REMEDY_KIND_MORE_GPUS:
        Set("--gpus", std::to_string(remedy.gpu_count()));
        break;
      case v1::REMEDY_KIND_SMALLER_CAPS:
        if (remedy.unit_cap() > 0) Set("--unit-cap", std::to_string(remedy.unit_cap()));
        if (remedy.token_cap() > 0) Set("--token-cap", std::to_string(remedy.token_cap()));
        break;
      case v1::REMEDY_KIND_SMALLER_MICRO_BATCH:
        Set("--micro-batch-samples", std::to_string(remedy.micro_batch_samples()));
        break;
      case v1::REMEDY_KIND_CONTEXT_PARALLEL:
      case v1::REMEDY_KIND_EXPERT_PARALLEL:
        Drop(remedy.kind() == v1::REMEDY_KIND_CONTEXT_PARALLEL ? "--cp" : "--ep");
        break;
      case v1::REMEDY_KIND_LARGER_GPU:
        Set("--gpu", remedy.gpu_type());
        break;
      case v1::REMEDY_KIND_MORE_HOST_MEMORY:
        Set("--host-memory-gib", std::to_string(remedy.host_memory_bytes() >> 30));
        break;
      case v1::REMEDY_KIND_STAGE_LAYERS: {
        std::string layers;
        for (const int32_t count : remedy.stage_layers())
          layers += (layers.empty() ? "" : ",") + std::to_string(count);
        command_ = command_.Without("--partition");
        Set("--stage-layers", layers);
        break;
      }
      case v1::REMEDY_KIND_FREE_SCHEDULE:
        Drop("--schedule");
        break;
      case v1::REMEDY_KIND_FREE_DEGREES:
        for (const char* flag : kDegreeFlags) Drop(flag);
        break;
      default:
        break;
    }
  }

  void ApplyTraining(const v1::Remedy& remedy) {
    switch (remedy.kind()) {
      case v1::REMEDY_KIND_ALLOW_RECOMPUTE:
        Set("--recompute", "auto");
        break;
      case v1::REMEDY_KIND_SHARD_OPTIMIZER:
        Set("--zero", "1");
        break;
      case v1::REMEDY_KIND_SHARD_WEIGHTS:
        Set("--zero", "3");
        break;
      case v1::REMEDY_KIND_GRADIENTS_16BIT:
        Set("--gradients", "16bit");
        break;
      case v1::REMEDY_KIND_OFFLOAD_OPTIMIZER:
        Set("--offload-optimizer", "auto");
        break;
      case v1::REMEDY_KIND_OFFLOAD_ACTIVATIONS:
        Set("--offload-activations", "auto");
        break;
      case v1::REMEDY_KIND_OFFLOAD_MODULES:
        Set("--offload-modules", "auto");
        break;
      case v1::REMEDY_KIND_OFFLOAD_WEIGHTS:
        SetSwitch("--offload-weights");
        break;
      case v1::REMEDY_KIND_FUSED_STEP:
      case v1::REMEDY_KIND_SEPARATE_STEP:
        Set("--fused-step", remedy.kind() == v1::REMEDY_KIND_FUSED_STEP ? "on" : "off");
        break;
      case v1::REMEDY_KIND_SMALLER_BATCH:
        Set("--global-batch", std::to_string(remedy.global_batch_samples()));
        break;
      case v1::REMEDY_KIND_LOWER_PRECISION:
        Set("--precision", PrecisionName(remedy.precision()));
        break;
      default:
        break;
    }
  }

  CommandLine command_;
  std::string flags_;
};

}  // namespace

std::string RenderMisfit(const Style& style, const v1::Plan& plan, const CommandLine& command) {
  const v1::Misfit& misfit = plan.misfit();
  std::string text = Section(style, "Why it does not fit");
  text += Paragraph(style, Plain(style, misfit.text()));
  if (misfit.micro_batches() == 0) {
    const std::string layers = LayersText(misfit.layers(), 1 << 20);
    text += Section(style, fmt::format("Memory of stage {}", misfit.stage_index()),
                    fmt::format("{}; {}", ParallelismText(misfit.parallelism()), layers));
    text += MemoryBars(style, misfit.memory(), misfit.capacity_bytes());
  }
  text += Section(style, "Changes that make it fit",
                  misfit.remedies_size() > 0 ? "each was tried and fits" : "");
  if (misfit.remedies_size() == 0) {
    text += Paragraph(style, "None of the changes that were tried makes it fit.");
  }
  for (int i = 0; i < misfit.remedies_size(); ++i) {
    const v1::Remedy& remedy = misfit.remedies(i);
    const std::string flags = AppliedRemedy(remedy, command).flags();
    text += NameValues(style, {{fmt::format("{}.", i + 1), Plain(style, remedy.text())}});
    if (!flags.empty()) text += "      " + Paint(style, Tone::kAccent, Plain(style, flags)) + "\n";
  }
  return text;
}

namespace {

// Returns the command that plans the first alternative: of the splits with these degrees, it is the
// best of the plan's packs. Flags that do not tell it apart from the plan stay as they are.
CommandLine RunnerUp(const v1::Plan& plan, const CommandLine& command) {
  const v1::Parallelism& ours = plan.parallelism();
  const v1::Parallelism& other = plan.alternatives(0).parallelism();
  CommandLine line = command.With("--tp", std::to_string(other.tensor()))
                         .With("--pp", std::to_string(other.pipeline()))
                         .Without("--dp");
  const auto set_if_different = [&line](const char* flag, int32_t own, int32_t degree) {
    if (std::max(1, own) != std::max(1, degree))
      line = line.With(flag, std::to_string(std::max(1, degree)));
  };
  set_if_different("--cp", ours.context(), other.context());
  set_if_different("--ep", ours.expert(), other.expert());
  set_if_different("--virtual-stages", ours.virtual_stages(), other.virtual_stages());
  set_if_different("--encoder-dp", ours.encoder_data(), other.encoder_data());
  if (plan.subject().micro_batch_samples() > 0 || plan.packing_groups_size() > 0) return line;
  const auto set_cap = [&](const char* flag, int64_t cap) {
    if (cap > 0 && !command.Has(flag) && !command.Has("--job"))
      line = line.With(flag, std::to_string(cap));
  };
  set_cap("--unit-cap", plan.batch_rule().unit_cap());
  set_cap("--token-cap", plan.batch_rule().token_cap());
  return line;
}

}  // namespace

std::string RenderNextCommands(const Style& style, const v1::Plan& plan,
                               const CommandLine& command) {
  std::vector<std::pair<std::string, std::string>> commands;
  if (plan.has_misfit()) {
    for (const v1::Remedy& remedy : plan.misfit().remedies()) {
      const AppliedRemedy applied(remedy, command);
      if (applied.flags().empty()) continue;
      commands.emplace_back("with the first of these changes", applied.command().Text());
      break;
    }
  } else {
    if (!command.Has("--dataset") && !command.Has("--job")) {
      commands.emplace_back("with your own sample lengths (see `evenkeelctl stats --help`)",
                            command.With("--dataset", "LENGTHS.json").Text());
    }
    if (plan.alternatives_size() > 0 && !command.Has("--stage-layers")) {
      commands.emplace_back("the first alternative in full", RunnerUp(plan, command).Text());
    }
    commands.emplace_back("on twice the GPUs",
                          command.With("--gpus", std::to_string(2 * plan.subject().gpu_count()))
                              .Without("--dp")
                              .Text());
  }
  commands.emplace_back("for programs", command.With("--output", "json").Text());
  std::string text = Section(style, "Next commands");
  for (const auto& [why, line] : commands) {
    text += Paint(style, Tone::kDim, "  # " + why) + "\n  " + Plain(style, line) + "\n";
  }
  return text;
}

}  // namespace evenkeel::cli
