// Shows the head of a plan: the verdict, and what was planned.
#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

// A GPU with less free memory than this share of it is called full.
constexpr double kFullShare = 0.01;

const v1::Stage* FullestStage(const v1::Plan& plan) {
  const v1::Stage* fullest = nullptr;
  for (const v1::Stage& stage : plan.stages())
    if (fullest == nullptr || stage.free_bytes() < fullest->free_bytes()) fullest = &stage;
  return fullest;
}

bool IsFull(const v1::Stage& stage) {
  return static_cast<double>(stage.free_bytes()) <
         kFullShare * static_cast<double>(stage.capacity_bytes());
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
    const bool stages = plan.misfit().parallelism().pipeline() > 1;
    if (plan.misfit().short_bytes() > 0 && !stages) text += " on each GPU";
    if (plan.misfit().micro_batches() == 0 && stages)
      text += fmt::format(" on stage {}", plan.misfit().stage_index());
    return Paint(style, Tone::kBad, text + ".");
  }
  const std::string risk = MemoryRiskText(plan);
  const Tone tone = risk.empty() ? Tone::kGood : Tone::kWarn;
  return Paint(style, tone, FitText(plan)) + (risk.empty() ? "" : " " + risk);
}

// Names the dataset that was assumed, or returns "".
std::string AssumedData(const v1::Plan& plan) {
  for (const v1::FigureBasis& figure : plan.provenance().figures()) {
    if (figure.figure() != "dataset" || figure.basis() != v1::BASIS_ASSUMED) continue;
    // Either "1000000 samples of 4096 tokens" or "lengths of NAMES: 40941 samples of ...".
    const std::string detail = WithThousands(figure.detail());
    const size_t colon = detail.rfind(": ");
    const std::string what = colon == std::string::npos ? detail : detail.substr(colon + 2);
    const std::string source = colon == std::string::npos ? "invented" : detail.substr(0, colon);
    if (!what.empty() && absl::ascii_isdigit(static_cast<unsigned char>(what.front())))
      return fmt::format("{} ({}; give --dataset)", what, source);
    return fmt::format("{} (assumed: {}; give --dataset)",
                       Counted(plan.subject().sample_count(), "sample"), detail);
  }
  return "";
}

std::string DataText(const v1::Plan& plan) {
  const v1::PlanSubject& subject = plan.subject();
  const std::string assumed = AssumedData(plan);
  return fmt::format("{}; {} per step, {}",
                     assumed.empty() ? Counted(subject.sample_count(), "sample") : assumed,
                     Integer(subject.global_batch_samples()), Counted(subject.epochs(), "epoch"));
}

// Names the components, unless the name of the model is made of them.
std::string ModelText(const v1::PlanSubject& subject) {
  std::string text = subject.model();
  const bool has_encoder = !subject.encoder().empty();
  const std::string components =
      has_encoder ? subject.encoder() + "+" + subject.language_model() : subject.language_model();
  if (!components.empty() && components != subject.model()) {
    text += " = ";
    text += has_encoder ? fmt::format("{} + {}", subject.encoder(), subject.language_model())
                        : components;
  }
  const double parameters = static_cast<double>(subject.parameter_count());
  return parameters > 0 ? text + ", " + BigCount(parameters) + " parameters" : text;
}

std::string PrecisionText(const v1::PlanSubject& subject) {
  // A plan does not say which format of 16 bits it is.
  if (subject.precision() == v1::PRECISION_UNSPECIFIED) return "16-bit precision";
  const int start = subject.execution().start_layers_16bit();
  const int end = subject.execution().end_layers_16bit();
  std::string text = PrecisionName(subject.precision());
  if (start > 0 || end > 0)
    text += fmt::format(" (the first {} and the last {} layers in 16 bits)", start, end);
  return text;
}

// Titles of optimizers in sentences.
constexpr std::pair<v1::Optimizer, const char*> kOptimizerTitles[] = {
    {v1::OPTIMIZER_ADAM, "Adam"},
    {v1::OPTIMIZER_ADAM_16BIT_MOMENTS, "Adam with 16-bit moments"},
    {v1::OPTIMIZER_ADAM_8BIT_MOMENTS, "Adam with 8-bit moments"},
    {v1::OPTIMIZER_ADAM_16BIT, "Adam in 16 bits"},
    {v1::OPTIMIZER_ADAM_8BIT, "Adam in 8 bits"},
    {v1::OPTIMIZER_ADAFACTOR, "Adafactor"},
    {v1::OPTIMIZER_LION, "Lion"},
    {v1::OPTIMIZER_SGD, "SGD"},
    {v1::OPTIMIZER_MUON, "Muon"}};

std::string OptimizerTitle(v1::Optimizer optimizer) {
  for (const auto& [of, title] : kOptimizerTitles)
    if (of == optimizer) return title;
  return NameOf(kOptimizerNames, optimizer, "?");
}

// Returns "ZeRO-1, 16-bit precision, fp32 gradients, Adam": the settings that decide the memory of
// training.
std::string TrainingText(const v1::PlanSubject& subject) {
  std::vector<std::string> parts;
  if (subject.zero_stage() != v1::ZERO_STAGE_UNSPECIFIED)
    parts.push_back(ZeroText(subject.zero_stage(), subject.zero_group()));
  if (!parts.empty() || subject.precision() != v1::PRECISION_UNSPECIFIED)
    parts.push_back(PrecisionText(subject));
  if (subject.gradient_precision() == v1::GRADIENT_PRECISION_FP32)
    parts.emplace_back("fp32 gradients");
  if (subject.gradient_precision() == v1::GRADIENT_PRECISION_16BIT)
    parts.emplace_back("16-bit gradients");
  if (subject.optimizer() != v1::OPTIMIZER_UNSPECIFIED)
    parts.push_back(OptimizerTitle(subject.optimizer()));
  return absl::StrJoin(parts, ", ");
}

std::string TrainerText(const v1::Plan& plan) {
  const v1::Trainer& trainer = plan.subject().trainer();
  std::string text = trainer.name();
  if (!trainer.version().empty()) text += " " + trainer.version();
  const std::string training = TrainingText(plan.subject());
  if (!training.empty()) text += (text.empty() ? "" : ": ") + training;
  for (const v1::FigureBasis& figure : plan.provenance().figures()) {
    if (figure.figure() == "training.trainer" && figure.basis() == v1::BASIS_ASSUMED)
      text += " (" + figure.detail() + ")";
  }
  return text;
}

// Names the ranks between which images are shared, and the gain. Empty if there is no choice and
// nothing is shared.
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

// Returns the tiers of the network beyond nodes, or "".
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
      text += fmt::format("; {} with {}{} GPUs", Counted(subject.gpu_count() / used, tier.name()),
                          Integer(used), of);
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
  return fmt::format("{} of {}; {}, {} between {}s, per GPU", Counted(nodes, "node"),
                     Counted(per_node, "GPU"),
                     domains ? ByteRate(subject.intra_node_bytes_per_second()) + " inside a " +
                                   subject.network_tiers(0).name()
                             : inside,
                     ByteRate(subject.inter_node_bytes_per_second()),
                     domains ? subject.network_tiers(0).name() : "node") +
         (subject.network_fabric() == v1::NETWORK_FABRIC_EFA ? " (EFA)" : "") + TiersText(subject);
}

std::string SplitOf(const v1::Plan& plan) {
  std::string split = ParallelismText(plan.parallelism());
  if (plan.has_group_choice()) split += " (of the longest group)";
  if (const std::string nodes = PipelineNodesText(plan); !nodes.empty()) split += "; " + nodes;
  return split;
}

}  // namespace

std::string ZeroText(v1::ZeroStage stage, int32_t group) {
  if (stage <= v1::ZERO_STAGE_0) return "no ZeRO";
  const std::string text = fmt::format("ZeRO-{}", stage - v1::ZERO_STAGE_0);
  return group > 0 ? fmt::format("{} in groups of {}", text, Counted(group, "rank")) : text;
}

std::string FitText(const v1::Plan& plan) {
  const v1::Predictions& predictions = plan.predictions();
  const v1::Stage* fullest = FullestStage(plan);
  std::string text =
      fmt::format("{}: {} per step{}, {}, MFU {}",
                  fullest != nullptr && IsFull(*fullest) ? "Fits with nothing to spare" : "Fits",
                  Duration(predictions.step().total_seconds()), RangeText(predictions),
                  GpuTime(predictions.gpu_days()), Percent(predictions.mfu()));
  if (fullest != nullptr) {
    const std::string free = Gib(fullest->free_bytes());
    text += plan.stages_size() == 1
                ? fmt::format("; each GPU has {} GiB free", free)
                : fmt::format("; stage {} is the fullest: {} GiB free", fullest->index(), free);
  }
  return text + ".";
}

std::string MemoryRiskText(const v1::Plan& plan) {
  if (plan.memory_fit() != v1::MEMORY_FIT_WITHIN_MARGIN || plan.has_misfit()) return "";
  const v1::Interval& interval = plan.predictions().memory_interval();
  return fmt::format(
      "That may not suffice: in {:.0f}% of runs, memory peaks at {:.0f}% to {:.0f}% of the "
      "prediction. --memory-confidence {:g} plans for the upper end.",
      100 * interval.coverage_ratio(), 100 * interval.low_ratio(), 100 * interval.high_ratio(),
      interval.coverage_ratio());
}

std::string RenderHeader(const Style& style, const v1::Plan& plan, const PlanOrigin& origin) {
  const v1::PlanSubject& subject = plan.subject();
  const std::string title = Plain(style, fmt::format("{} on {} x {}", subject.model(),
                                                     subject.gpu_count(), subject.gpu_type()));
  std::string text = origin.comparison.empty()
                         ? Paint(style, Tone::kBold, title) + "\n"
                         : origin.comparison + Section(style, "Offer 1 in full: " + title);
  text += Paragraph(style, Verdict(style, plan), 0) + RenderNotes(style, plan) + "\n";
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back(
      "plan", plan.plan_id() + (origin.served_from.empty() ? "" : ", " + origin.served_from));
  pairs.emplace_back("model", ModelText(subject));
  pairs.emplace_back("cluster", ClusterText(subject));
  if (const std::string trainer = TrainerText(plan); !trainer.empty())
    pairs.emplace_back("trainer", trainer);
  if (subject.fused_step())
    pairs.emplace_back("optimizer", "updates each layer during the backward pass");
  pairs.emplace_back("data", DataText(plan));
  if (plan.has_parallelism()) {
    pairs.emplace_back("split", SplitOf(plan));
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

}  // namespace evenkeel::cli
