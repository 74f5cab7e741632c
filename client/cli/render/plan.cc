#include "client/cli/render/plan.h"
#include <cmath>

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/pack.h"

namespace evenkeel::cli {
namespace {

// Returns `evenkeelctl plan` for the plan's own subject, for plans that were not asked for by
// flags.
CommandLine CommandFor(const v1::Plan& plan) {
  return CommandLine({"evenkeelctl", "plan", "--model", plan.subject().model(), "--gpu",
                      plan.subject().gpu_type(), "--gpus",
                      std::to_string(plan.subject().gpu_count())});
}

std::string RangeText(const v1::Predictions& predictions) {
  const double seconds = predictions.step().total_seconds();
  const v1::Interval& interval = predictions.step_interval();
  if (interval.high_ratio() <= 0) return "";  // the plan is of an earlier version
  return fmt::format(" ({:.0f}% of runs: {} to {})", 100 * interval.coverage_ratio(),
                     Duration(interval.low_ratio() * seconds),
                     Duration(interval.high_ratio() * seconds));
}

std::string Verdict(const Style& style, const v1::Plan& plan) {
  if (plan.has_misfit()) {
    std::string text = "Does not fit: " + ShortText(plan.misfit());
    if (plan.misfit().micro_batches() == 0)
      text += fmt::format(" on stage {}", plan.misfit().stage_index());
    return Paint(style, Tone::kBad, text + ".");
  }
  int tightest = 0;
  for (int s = 1; s < plan.stages_size(); ++s) {
    if (plan.stages(s).free_bytes() < plan.stages(tightest).free_bytes()) tightest = s;
  }
  const v1::Predictions& predictions = plan.predictions();
  std::string text =
      Paint(style, Tone::kGood,
            fmt::format("Fits: {} per step{}, {}, MFU {}",
                        Duration(predictions.step().total_seconds()), RangeText(predictions),
                        GpuTime(predictions.gpu_days()), Percent(predictions.mfu())));
  if (plan.stages_size() > 0) {
    const std::string free = Gib(plan.stages(tightest).free_bytes());
    text += plan.stages_size() == 1
                ? fmt::format("; each GPU has {} GiB free", free)
                : fmt::format("; stage {} is the fullest: {} GiB free", tightest, free);
  }
  return text + ".";
}

std::string DataText(const v1::Plan& plan) {
  const v1::PlanSubject& subject = plan.subject();
  std::string text = Integer(subject.sample_count()) + " samples";
  for (const v1::FigureBasis& figure : plan.provenance().figures()) {
    if (figure.figure().compare(0, 7, "dataset") == 0 && figure.basis() == v1::BASIS_ASSUMED) {
      text += " (default: " + figure.detail() + ")";
      break;
    }
  }
  text += fmt::format("; {} per step, {} epoch{}", Integer(subject.global_batch_samples()),
                      subject.epochs(), subject.epochs() == 1 ? "" : "s");
  return text;
}

std::string ModelText(const v1::PlanSubject& subject) {
  std::string text = subject.model();
  if (!subject.encoder().empty()) {
    text += fmt::format(" = {} + {}", subject.encoder(), subject.language_model());
  } else if (!subject.language_model().empty() && subject.language_model() != subject.model()) {
    text += " = " + subject.language_model();
  }
  const double parameters = static_cast<double>(subject.parameter_count());
  return parameters > 0 ? text + ", " + BigCount(parameters) + " parameters" : text;
}

std::string TrainerText(const v1::Plan& plan) {
  const v1::Trainer& trainer = plan.subject().trainer();
  std::string text = trainer.name();
  if (!trainer.version().empty()) text += " " + trainer.version();
  for (const v1::FigureBasis& figure : plan.provenance().figures()) {
    if (figure.figure() == "training.trainer" && figure.basis() == v1::BASIS_ASSUMED)
      text += " (" + figure.detail() + ")";
  }
  return text;
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

// Says between which ranks images are shared, and what that gains. Empty where there is no choice
// and nothing is shared.
std::string EncoderText(const v1::Plan& plan) {
  const v1::Parallelism& p = plan.parallelism();
  if (p.encoder_data() <= 1 && !plan.has_encoder_data_gain_ratio()) return "";
  std::string text = "split as the language model; every context rank runs it on the whole pack";
  if (p.encoder_data() <= 1 && p.context() <= 1) text = "split as the language model";
  if (p.encoder_data() > 1) {
    const bool whole = p.encoder_data() == p.tensor() * p.context();
    text = fmt::format("{} ranks share the images of a pack, each with {}", p.encoder_data(),
                       whole ? "the whole encoder" : "its tensor-parallel part of the encoder");
  }
  if (!plan.has_encoder_data_gain_ratio()) return text;
  const double gain = plan.encoder_data_gain_ratio();
  return text + fmt::format("; otherwise a step takes {:.1f}% {}", 100 * std::abs(gain),
                            gain < 0 ? "less" : "more");
}

std::string PrecisionText(const v1::PlanSubject& subject) {
  const int start = subject.execution().start_layers_16bit();
  const int end = subject.execution().end_layers_16bit();
  std::string text = PrecisionName(subject.precision());
  if (start > 0 || end > 0)
    text += fmt::format("; the first {} and the last {} layers in 16 bits", start, end);
  return text;
}

// Returns what lies beyond nodes, or "".
std::string TiersText(const v1::PlanSubject& subject) {
  std::string text;
  const int tiers = subject.network_tiers_size();
  for (int i = 0; i < tiers; ++i) {
    const v1::NetworkTier& tier = subject.network_tiers(i);
    const int used = std::max(1, tier.usable_gpu_count());
    if (i == 2) {
      text += fmt::format(", {} between them", ByteRate(tier.bytes_per_second()));
    } else if (i > 0 || used > subject.gpus_per_node()) {
      const std::string of =
          tier.gpu_count() > used ? fmt::format(" of {}", Integer(tier.gpu_count())) : "";
      text +=
          fmt::format("; {} {}{} with {}{} GPUs", Integer(subject.gpu_count() / used), tier.name(),
                      subject.gpu_count() / used == 1 ? "" : "s", Integer(used), of);
    }
  }
  return text;
}

std::string ClusterText(const v1::PlanSubject& subject) {
  const int per_node = std::max(1, subject.gpus_per_node());
  const int nodes = (subject.gpu_count() + per_node - 1) / per_node;
  const std::string inside = ByteRate(subject.intra_node_bytes_per_second()) + " inside a node";
  if (subject.gpus_per_full_node() > per_node) {
    return fmt::format("{} of the {} GPUs of a node; {}, per GPU", per_node,
                       subject.gpus_per_full_node(), inside);
  }
  const bool domains =
      subject.network_tiers_size() > 0 && subject.network_tiers(0).usable_gpu_count() > per_node;
  return fmt::format("{} node{} of {} GPUs; {}, {} between {}s, per GPU", Integer(nodes),
                     nodes == 1 ? "" : "s", per_node,
                     domains ? ByteRate(subject.intra_node_bytes_per_second()) + " inside a " +
                                   subject.network_tiers(0).name()
                             : inside,
                     ByteRate(subject.inter_node_bytes_per_second()),
                     domains ? subject.network_tiers(0).name() : "node") +
         (subject.network_fabric() == v1::NETWORK_FABRIC_EFA ? " (EFA)" : "") + TiersText(subject);
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
  std::vector<std::string> parts;
  if (offload.weights())
    parts.push_back(fmt::format(
        "weights, gradients and the optimizer's states in host memory: {} of a GPU, {} of the {} "
        "of "
        "a node; a step takes {} longer for it",
        Bytes(offload.gpu_bytes()), Bytes(offload.host_bytes()),
        Bytes(offload.host_capacity_bytes()), Duration(offload.added_seconds())));
  else if (offload.optimizer_ratio() > 0)
    parts.push_back(fmt::format(
        "{} of the optimizer's states in host memory: {} of a GPU, {} of the {} of a node; a step "
        "takes {} longer for it",
        Percent(offload.optimizer_ratio()), Bytes(offload.gpu_bytes()), Bytes(offload.host_bytes()),
        Bytes(offload.host_capacity_bytes()), Duration(offload.added_seconds())));
  if (offload.activation_layers() > 0)
    parts.push_back(fmt::format(
        "activations of {} language layers in host memory: {} of a GPU, {} of the {} of a node; "
        "passes wait {} of a step for copies",
        offload.activation_layers(), Bytes(offload.activation_bytes()),
        Bytes(offload.activation_host_bytes()), Bytes(offload.host_capacity_bytes()),
        Duration(offload.activation_added_seconds())));
  if (offload.activation_modules_size() > 0) {
    const auto append_name = [](std::string* out, int module) {
      out->append(NameOf(kOffloadModuleNames, static_cast<v1::OffloadModule>(module), "?"));
    };
    parts.push_back(fmt::format(
        "inputs of {} in host memory: {} of a GPU, {} of the {} of a node; passes wait {} of a "
        "step for copies",
        absl::StrJoin(offload.activation_modules(), ", ", append_name),
        Bytes(offload.activation_bytes()), Bytes(offload.activation_host_bytes()),
        Bytes(offload.host_capacity_bytes()), Duration(offload.activation_added_seconds())));
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

std::string RenderHeader(const Style& style, const v1::Plan& plan, const PlanOrigin& origin) {
  const v1::PlanSubject& subject = plan.subject();
  std::string text = Paint(style, Tone::kBold,
                           Plain(style, fmt::format("{} on {} x {}", subject.model(),
                                                    subject.gpu_count(), subject.gpu_type()))) +
                     "\n";
  text += Paragraph(style, Verdict(style, plan), 0) + RenderNotes(style, plan) + "\n";
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back(
      "plan", plan.plan_id() + (origin.served_from.empty() ? "" : ", " + origin.served_from));
  pairs.emplace_back("model", ModelText(subject));
  pairs.emplace_back("cluster", ClusterText(subject));
  if (!subject.trainer().name().empty()) pairs.emplace_back("trainer", TrainerText(plan));
  if (subject.precision() != v1::PRECISION_UNSPECIFIED)
    pairs.emplace_back("precision", PrecisionText(subject));
  if (subject.optimizer() != v1::OPTIMIZER_UNSPECIFIED && subject.optimizer() != v1::OPTIMIZER_ADAM)
    pairs.emplace_back("optimizer", NameOf(kOptimizerNames, subject.optimizer(), "?"));
  if (subject.fused_step()) pairs.emplace_back("update", "of each layer inside the backward pass");
  pairs.emplace_back("data", DataText(plan));
  if (plan.has_parallelism()) {
    std::string split = ParallelismText(plan.parallelism());
    if (plan.has_group_choice()) split += " (of the longest group)";
    if (const std::string nodes = PipelineNodesText(plan); !nodes.empty()) split += "; " + nodes;
    pairs.emplace_back("split", split);
    if (const std::string encoder = EncoderText(plan); !encoder.empty())
      pairs.emplace_back("encoder", encoder);
    if (plan.placement().host_memory_bytes() > 0) {
      pairs.emplace_back("host",
                         fmt::format("a node's pod needs {} of memory, {} of it shared (/dev/shm)",
                                     Bytes(plan.placement().host_memory_bytes()),
                                     Bytes(plan.placement().shm_bytes())));
    }
    if (plan.has_offload()) pairs.emplace_back("offload", OffloadText(plan));
    if (plan.parallelism().pipeline() > 1) pairs.emplace_back("schedule", ScheduleText(plan));
  }
  for (auto& [name, value] : pairs) value = Plain(style, value);
  return text + NameValues(style, pairs);
}

std::string WindowText(const v1::BatchRule& rule) {
  if (rule.order_window() >= 1'000'000'000) return "packs exchanged over the whole epoch";
  if (rule.order_window() <= 1) return "steps drawn at random";
  return fmt::format("packs exchanged within {} steps, steps shuffled",
                     Integer(rule.order_window()));
}

std::string RenderBatchRule(const Style& style, const v1::Plan& plan) {
  if (!plan.has_batch_rule()) return "";
  if (plan.subject().micro_batch_samples() > 0) return RenderPaddedBatches(style, plan);
  const v1::BatchRule& rule = plan.batch_rule();
  const bool units = rule.unit_cap() > 0;
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
  if (rule.unit_scales_size() > 0) pairs.emplace_back("units count", UnitScalesText(rule));
  if (!rule.caps_reason().empty() && !plan.has_group_choice())
    pairs.emplace_back("reason", Plain(style, rule.caps_reason()));
  if (rule.packer() == v1::PACKER_ISF) {
    pairs.emplace_back("kept with",
                       (units ? fmt::format("at least {} units or {} tokens",
                                            Integer(rule.keep_units()), Integer(rule.keep_tokens()))
                              : fmt::format("at least {} tokens", Integer(rule.keep_tokens()))) +
                           fmt::format("; {} rounds", rule.iterations()));
  }
  pairs.emplace_back("packer", fmt::format("{}; seed {}, {}", PackerName(rule.packer()),
                                           rule.seed(), WindowText(rule)));
  pairs.emplace_back(
      "a mean pack",
      fmt::format("{} samples, ", Significant(rule.samples_per_pack())) +
          both(Significant(rule.mean_units()) + " units",
               Significant(rule.mean_tokens()) + " tokens") +
          fmt::format("; {} packs in all", Integer(rule.pack_count())) +
          (rule.pack_count_lower_bound() > 0 ? fmt::format("; at least {} are needed (proven)",
                                                           Integer(rule.pack_count_lower_bound()))
                                             : ""));
  if (!plan.has_misfit()) {  // with a misfit, there are no ranks
    std::string balance = units ? "units " + Percent(rule.dist_ratio_units()) + ", " : "";
    balance += fmt::format("tokens {}, attention {}; padding {}", Percent(rule.dist_ratio_tokens()),
                           Percent(rule.dist_ratio_attention()), Percent(rule.pad_ratio()));
    pairs.emplace_back("imbalance", balance + " (DistRatio over the data-parallel ranks)");
  }
  const v1::Predictions& predictions = plan.predictions();
  if (predictions.micro_batches() > 0 && !plan.has_group_choice()) {
    pairs.emplace_back(
        "a step",
        fmt::format(
            "{} pack{} on each rank, {} samples; {} step{} per epoch{}",
            Integer(predictions.micro_batches()), predictions.micro_batches() == 1 ? "" : "s",
            Significant(predictions.samples_per_step()), Integer(predictions.steps_per_epoch()),
            predictions.steps_per_epoch() == 1 ? "" : "s",
            predictions.holed_steps() > 0 ? ", the last with zero-weight dummies on some ranks"
                                          : ""));
  }
  for (auto& [name, value] : pairs) value = Plain(style, value);
  return Section(style, "Batch rule",
                 fmt::format("predicted on {} samples", Integer(rule.sampled_count()))) +
         NameValues(style, pairs);
}

std::string RenderPlan(const Style& style, const v1::Plan& plan, const PlanOrigin& origin) {
  const CommandLine command = origin.command.value_or(CommandFor(plan))
                                  .Without("--save")
                                  .Without("--trace")
                                  .Without("--report");
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
        RenderOtherPrecisions(style, plan) + RenderDispatchers(style, plan);
  }
  return text + RenderProof(style, plan) + RenderBasis(style, plan) +
         RenderNextCommands(style, plan, command);
}

std::string ShortText(const v1::Misfit& misfit) {
  if (misfit.micro_batches() > 0)
    return fmt::format("{} micro-batches per rank", misfit.micro_batches());
  if (misfit.host_short_bytes() > 0)
    return Bytes(misfit.host_short_bytes()) + " of host memory short";
  return Bytes(misfit.short_bytes()) + " short";
}

}  // namespace evenkeel::cli
