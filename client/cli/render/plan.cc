#include "client/cli/render/plan.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/pack.h"
#include "client/cli/render/words.h"
#include "planner/job.h"

namespace evenkeel::cli {
namespace {

// Returns `evenkeelctl plan` for the plan's own subject, for plans that were not asked for by
// flags.
CommandLine CommandFor(const v1::Plan& plan) {
  return CommandLine({"evenkeelctl", "plan", "--model", plan.subject().model(), "--gpu",
                      plan.subject().gpu_type(), "--gpus",
                      std::to_string(plan.subject().gpu_count())});
}

// Names context and expert degrees. Virtual stages are listed separately, because they do not
// multiply the GPU count.
std::string OtherDegrees(const v1::Parallelism& parallelism) {
  std::string text;
  if (parallelism.context() > 1) text += fmt::format(", context {}", parallelism.context());
  if (parallelism.expert() > 1) text += fmt::format(", expert {}", parallelism.expert());
  if (parallelism.encoder_data() > 1)
    text += fmt::format(", encoder data {}", parallelism.encoder_data());
  return text;
}

// Returns "12.0 GiB per GPU, 96.0 GiB of the 402.3 GiB per node".
std::string HostAmounts(int64_t gpu_bytes, int64_t host_bytes, int64_t capacity_bytes) {
  return fmt::format("{} per GPU, {} of the {} per node", Bytes(gpu_bytes), Bytes(host_bytes),
                     Bytes(capacity_bytes));
}

std::string AddedTime(const char* what, double seconds) {
  return seconds > 0 ? fmt::format("{} {} to a step", what, Duration(seconds))
                     : fmt::format("{} no time", what);
}

}  // namespace

std::string ParallelismText(const v1::Parallelism& parallelism) {
  return fmt::format("tensor {} x pipeline {} x data {}", parallelism.tensor(),
                     parallelism.pipeline(), parallelism.data()) +
         OtherDegrees(parallelism);
}

std::string SplitText(const v1::Parallelism& parallelism) {
  return fmt::format("{} x {} x {}", parallelism.tensor(), parallelism.pipeline(),
                     parallelism.data()) +
         OtherDegrees(parallelism);
}

std::string PacksName(const v1::Plan& plan) {
  return plan.subject().micro_batch_samples() > 0 ? "micro-batches" : "packs";
}

std::string PipelineNodesText(const v1::Plan& plan) {
  if (!plan.has_placement() || plan.parallelism().pipeline() <= 1) return "";
  return plan.placement().stages_cross_nodes() ? "the pipeline crosses nodes"
                                               : "each pipeline stays inside a node";
}

// Compares with the best plan that offloads nothing. Nothing is searched for a plan that was given.
std::string OffloadGain(const v1::Plan& plan) {
  const v1::OffloadReport& offload = plan.offload();
  if (!offload.has_step_without_seconds())
    return plan.plan_id().empty() ? "" : "; no plan was found to fit without it";
  const double gain = offload.step_without_seconds() / offload.step_seconds() - 1;
  return fmt::format("; without it, the best plan found takes {} {}", Percent(std::abs(gain)),
                     gain >= 0 ? "longer" : "less");
}

std::string OffloadText(const v1::Plan& plan) {
  const v1::OffloadReport& offload = plan.offload();
  const int64_t capacity = offload.host_capacity_bytes();
  std::vector<std::string> parts;
  const auto add_states = [&](const std::string& what) {
    parts.push_back(fmt::format("{} in host memory: {}; it {}", what,
                                HostAmounts(offload.gpu_bytes(), offload.host_bytes(), capacity),
                                AddedTime("adds", offload.added_seconds())));
  };
  if (offload.weights())
    add_states("weights, gradients and the optimizer's states");
  else if (offload.optimizer_ratio() > 0)
    add_states((offload.optimizer_ratio() < 0.9995 ? Percent(offload.optimizer_ratio()) : "all") +
               " of the optimizer's states");
  const auto add_activations = [&](const std::string& what) {
    parts.push_back(fmt::format(
        "{} in host memory: {}; {}", what,
        HostAmounts(offload.activation_bytes(), offload.activation_host_bytes(), capacity),
        AddedTime("copies add", offload.activation_added_seconds())));
  };
  if (offload.activation_layers() > 0)
    add_activations(
        fmt::format("activations of {}", Counted(offload.activation_layers(), "language layer")));
  if (offload.activation_modules_size() > 0) {
    const auto append_name = [](std::string* out, int module) {
      out->append(NameOf(kOffloadModuleNames, static_cast<v1::OffloadModule>(module), "?"));
    };
    add_activations("inputs of " + absl::StrJoin(offload.activation_modules(), ", ", append_name));
  }
  if (!parts.empty()) return absl::StrJoin(parts, "; ") + OffloadGain(plan);
  const bool activations =
      offload.has_activation_layers() || plan.subject().offload().choose_activation_modules();
  return activations ? "none: activations in host memory gain nothing"
                     : "none: a share in host memory gains nothing";
}

std::string ScheduleText(const v1::Plan& plan) {
  std::string text;
  switch (plan.schedule()) {
    case v1::PIPELINE_SCHEDULE_INTERLEAVED:
      text = "interleaved 1F1B";
      break;
    case v1::PIPELINE_SCHEDULE_GPIPE:
      text = "GPipe";
      break;
    case v1::PIPELINE_SCHEDULE_ZERO_BUBBLE:
      text = "zero-bubble ZB-H1";
      break;
    default:
      text = "1F1B";
  }
  if (plan.parallelism().virtual_stages() > 1)
    text += fmt::format(", {} virtual stages", plan.parallelism().virtual_stages());
  return text;
}

std::string WindowText(const v1::BatchRule& rule) {
  if (rule.order_window() >= planner::kWholeEpoch) return "packs exchanged over the whole epoch";
  if (rule.order_window() <= 1) return "steps drawn at random";
  return fmt::format("packs exchanged within {} steps, steps shuffled",
                     Integer(rule.order_window()));
}

std::string RenderBatchRule(const Style& style, const v1::Plan& plan) {
  if (!plan.has_batch_rule()) return "";
  if (plan.subject().micro_batch_samples() > 0) return RenderPaddedBatches(style, plan);
  const v1::BatchRule& rule = plan.batch_rule();
  const bool units = rule.unit_cap() > 0;
  const int64_t bound = rule.pack_count_lower_bound();
  const auto both = [&](const std::string& unit_text, const std::string& token_text) {
    return units ? unit_text + ", " + token_text : token_text;
  };
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!plan.has_group_choice())
    pairs.emplace_back(
        "pack cap",
        "at most " +
            both(Integer(rule.unit_cap()) + " units", Integer(rule.token_cap()) + " tokens") +
            (rule.caps_derived() ? " (derived from the data)" : " (as given)"));
  if (rule.unit_scales_size() > 0) pairs.emplace_back("unit weights", UnitScalesText(rule));
  if (!rule.caps_reason().empty() && !plan.has_group_choice())
    pairs.emplace_back("reason", Plain(style, WithThousands(rule.caps_reason())));
  if (rule.packer() == v1::PACKER_ISF) {
    pairs.emplace_back("kept with",
                       (units ? fmt::format("at least {} units or {} tokens",
                                            Integer(rule.keep_units()), Integer(rule.keep_tokens()))
                              : fmt::format("at least {} tokens", Integer(rule.keep_tokens()))) +
                           "; " + Counted(rule.iterations(), "round"));
  }
  pairs.emplace_back("packer", fmt::format("{}; seed {}, {}", PackerName(rule.packer()),
                                           rule.seed(), WindowText(rule)));
  pairs.emplace_back("a mean pack",
                     CountedMean(rule.samples_per_pack(), "sample") + ", " +
                         both(Significant(rule.mean_units()) + " units",
                              Significant(rule.mean_tokens()) + " tokens") +
                         fmt::format("; {} in all", Counted(rule.pack_count(), "pack")) +
                         (bound > 0 ? fmt::format("; at least {} {} needed (proven)",
                                                  Integer(bound), bound == 1 ? "is" : "are")
                                    : ""));
  if (!plan.has_misfit()) {  // with a misfit, there are no ranks
    std::string balance = units ? "units " + Percent(rule.dist_ratio_units()) + ", " : "";
    balance += fmt::format("tokens {}, attention {}; padding {}", Percent(rule.dist_ratio_tokens()),
                           Percent(rule.dist_ratio_attention()), Percent(rule.pad_ratio()));
    pairs.emplace_back("imbalance", balance + " (DistRatio over the data-parallel ranks)");
  }
  const v1::Predictions& predictions = plan.predictions();
  if (predictions.micro_batches() > 0 && !plan.has_group_choice()) {
    pairs.emplace_back("a step",
                       fmt::format("{} on each rank, {}; {} per epoch{}",
                                   Counted(predictions.micro_batches(), "pack"),
                                   CountedMean(predictions.samples_per_step(), "sample"),
                                   Counted(predictions.steps_per_epoch(), "step"),
                                   predictions.holed_steps() > 0
                                       ? ", the last with zero-weight dummies on some ranks"
                                       : ""));
  }
  for (auto& [name, value] : pairs) value = Plain(style, value);
  return Section(style, "Batch rule", "predicted on " + Counted(rule.sampled_count(), "sample")) +
         NameValues(style, pairs);
}

std::string RenderPlan(const Style& style, const v1::Plan& plan, const PlanOrigin& origin) {
  const auto without_files = [](const CommandLine& command) {
    return command.Without("--save").Without("--trace").Without("--report");
  };
  const CommandLine command = without_files(origin.command.value_or(CommandFor(plan)));
  std::string text = RenderHeader(style, plan, origin);
  if (plan.has_misfit()) {
    text += RenderMisfit(style, plan, command) + RenderBatchRule(style, plan);
  } else {
    text +=
        RenderBatchRule(style, plan) + RenderGroups(style, plan) + RenderStages(style, plan) +
        RenderStageTimes(style, plan) + RenderStageMemory(style, plan) +
        RenderStepTime(style, plan) + RenderGoodput(style, plan) +
        (plan.has_group_choice() ? RenderBatchingMethods(style, plan) : RenderLadder(style, plan)) +
        RenderAlternatives(style, plan) + RenderOtherSizes(style, plan) +
        RenderOtherPrecisions(style, plan) + RenderOtherShardings(style, plan) +
        RenderDispatchers(style, plan);
  }
  return text + RenderProof(style, plan) + RenderBasis(style, plan) +
         RenderNextCommands(
             style, plan, command,
             origin.of_offer ? without_files(*origin.of_offer) : std::optional<CommandLine>());
}

std::string ShortText(const v1::Misfit& misfit) {
  if (misfit.micro_batches() > 0)
    return Counted(misfit.micro_batches(), "micro-batch") + " per rank";
  if (misfit.host_short_bytes() > 0)
    return Bytes(misfit.host_short_bytes()) + " of host memory short";
  return Bytes(misfit.short_bytes()) + " short";
}

}  // namespace evenkeel::cli
