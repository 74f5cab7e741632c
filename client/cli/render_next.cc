// Shows what the reader can do next: remedies of a misfit as flags, and command lines for the next
// question.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/render_memory.h"
#include "client/cli/render_plan.h"
#include "client/cli/table.h"
#include "client/cli/training_names.h"

namespace evenkeel::cli {
namespace {

constexpr const char* kDegreeFlags[] = {"--tp", "--pp", "--dp", "--stage-layers", "--partition"};

// The command with the remedy, and the flags by themselves.
struct AppliedRemedy {
  CommandLine command;
  std::string flags;
};

AppliedRemedy Apply(const v1::Remedy& remedy, const CommandLine& command) {
  CommandLine changed = command;
  std::string flags;
  const auto set = [&](const std::string& flag, const std::string& value) {
    changed = changed.With(flag, value);
    flags += (flags.empty() ? "" : " ") + flag + " " + value;
  };
  const auto drop = [&](const char* flag) {
    if (!changed.Has(flag)) return;
    changed = changed.Without(flag);
    flags += fmt::format("{}{}", flags.empty() ? "without " : " ", flag);
  };
  switch (remedy.kind()) {
    case v1::REMEDY_KIND_MORE_GPUS:
      set("--gpus", std::to_string(remedy.gpu_count()));
      break;
    case v1::REMEDY_KIND_SMALLER_CAPS:
      if (remedy.unit_cap() > 0) set("--unit-cap", std::to_string(remedy.unit_cap()));
      if (remedy.token_cap() > 0) set("--token-cap", std::to_string(remedy.token_cap()));
      break;
    case v1::REMEDY_KIND_SMALLER_MICRO_BATCH:
      set("--micro-batch-samples", std::to_string(remedy.micro_batch_samples()));
      break;
    case v1::REMEDY_KIND_ALLOW_RECOMPUTE:
      set("--recompute", "auto");
      break;
    case v1::REMEDY_KIND_SHARD_OPTIMIZER:
      set("--zero", "1");
      break;
    case v1::REMEDY_KIND_SHARD_WEIGHTS:
      set("--zero", "3");
      break;
    case v1::REMEDY_KIND_GRADIENTS_16BIT:
      set("--gradients", "16bit");
      break;
    case v1::REMEDY_KIND_CONTEXT_PARALLEL:
    case v1::REMEDY_KIND_EXPERT_PARALLEL:
      drop(remedy.kind() == v1::REMEDY_KIND_CONTEXT_PARALLEL ? "--cp" : "--ep");
      break;
    case v1::REMEDY_KIND_LARGER_GPU:
      set("--gpu", remedy.gpu_type());
      break;
    case v1::REMEDY_KIND_STAGE_LAYERS: {
      std::string layers;
      for (const int32_t count : remedy.stage_layers())
        layers += (layers.empty() ? "" : ",") + std::to_string(count);
      changed = changed.Without("--partition");
      set("--stage-layers", layers);
      break;
    }
    case v1::REMEDY_KIND_OFFLOAD_OPTIMIZER:
      set("--offload-optimizer", "auto");
      break;
    case v1::REMEDY_KIND_OFFLOAD_ACTIVATIONS:
      set("--offload-activations", "auto");
      break;
    case v1::REMEDY_KIND_OFFLOAD_MODULES:
      set("--offload-modules", "auto");
      break;
    case v1::REMEDY_KIND_FUSED_STEP:
    case v1::REMEDY_KIND_SEPARATE_STEP:
      set("--fused-step", remedy.kind() == v1::REMEDY_KIND_FUSED_STEP ? "on" : "off");
      break;
    case v1::REMEDY_KIND_SMALLER_BATCH:
      set("--global-batch", std::to_string(remedy.global_batch_samples()));
      break;
    case v1::REMEDY_KIND_LOWER_PRECISION:
      set("--precision", PrecisionName(remedy.precision()));
      break;
    case v1::REMEDY_KIND_FREE_SCHEDULE:
      drop("--schedule");
      break;
    case v1::REMEDY_KIND_FREE_DEGREES:
      for (const char* flag : kDegreeFlags) drop(flag);
      break;
    default:
      break;
  }
  return {changed, flags};
}

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
  text += Section(style, "What would help", misfit.remedies_size() > 0 ? "each was tried" : "");
  if (misfit.remedies_size() == 0) {
    text += Paragraph(style, "None of the changes that were tried makes it fit.");
  }
  for (int i = 0; i < misfit.remedies_size(); ++i) {
    const v1::Remedy& remedy = misfit.remedies(i);
    const std::string flags = Apply(remedy, command).flags;
    text += NameValues(style, {{fmt::format("{}.", i + 1), Plain(style, remedy.text())}});
    if (!flags.empty()) text += "      " + Paint(style, Tone::kAccent, Plain(style, flags)) + "\n";
  }
  return text;
}

std::string RenderNextQuestions(const Style& style, const v1::Plan& plan,
                                const CommandLine& command) {
  std::vector<std::pair<std::string, std::string>> questions;
  if (plan.has_misfit()) {
    for (const v1::Remedy& remedy : plan.misfit().remedies()) {
      const AppliedRemedy applied = Apply(remedy, command);
      if (applied.flags.empty()) continue;
      questions.emplace_back("with the nearest change", applied.command.Text());
      break;
    }
  } else {
    if (!command.Has("--dataset") && !command.Has("--job")) {
      questions.emplace_back("with your own sample lengths (see `evenkeelctl stats --help`)",
                             command.With("--dataset", "LENGTHS.json").Text());
    }
    if (plan.alternatives_size() > 0 && !command.Has("--stage-layers")) {
      const v1::Parallelism& other = plan.alternatives(0).parallelism();
      questions.emplace_back("the runner-up in full",
                             command.With("--tp", std::to_string(other.tensor()))
                                 .With("--pp", std::to_string(other.pipeline()))
                                 .Without("--dp")
                                 .Text());
    }
    questions.emplace_back("on twice the GPUs",
                           command.With("--gpus", std::to_string(2 * plan.subject().gpu_count()))
                               .Without("--dp")
                               .Text());
  }
  questions.emplace_back("for programs", command.With("--output", "json").Text());
  std::string text = Section(style, "Next questions");
  for (const auto& [why, line] : questions) {
    text += Paint(style, Tone::kDim, "  # " + why) + "\n  " + Plain(style, line) + "\n";
  }
  return text;
}

}  // namespace evenkeel::cli
