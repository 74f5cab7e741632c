// Shows caveats that a reader should know before believing the verdict.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/job/trainer_names.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {
namespace {

std::string BatchNote(const v1::Plan& plan) {
  const double requested = static_cast<double>(plan.subject().global_batch_samples());
  const v1::Predictions& predictions = plan.predictions();
  const double real = predictions.samples_per_step();
  if (!MissesBatch(requested, real)) return "";
  const std::string pack = plan.subject().micro_batch_samples() > 0 ? "micro-batch" : "pack";
  return fmt::format(
      "a step trains on {}, {} {} than the {} asked for: {} are whole, and every data-parallel "
      "rank "
      "needs at least one (here {} of {} on each of {})",
      CountedMean(real, "sample"), Percent(std::fabs(real / requested - 1)),
      real > requested ? "more" : "fewer", Integer(plan.subject().global_batch_samples()),
      PluralOf(pack), Counted(predictions.micro_batches(), pack),
      CountedMean(plan.batch_rule().samples_per_pack(), "sample"),
      Counted(plan.parallelism().data(), "rank"));
}

// Notes a trainer that the planner does not know, because its name may be misspelt.
std::string TrainerNote(const v1::Plan& plan) {
  for (const v1::FigureBasis& figure : plan.provenance().figures()) {
    if (figure.figure() != "training.trainer" || !figure.detail().starts_with("no record of "))
      continue;
    const std::string& name = plan.subject().trainer().name();
    const std::string nearest = NearestTrainer(name);
    return fmt::format(
        "\"{}\" is not a known trainer ({}`evenkeelctl trainers` lists them): planned with the "
        "defaults of a trainer without a record",
        name, nearest.empty() ? "" : "did you mean " + nearest + "? ");
  }
  return "";
}

// Notes a chip without any measurement, which may look better than those that were measured.
std::string ChipNote(const v1::Plan& plan) {
  for (const v1::FigureBasis& figure : plan.provenance().figures())
    if (figure.figure() == "gpu.kernel_times" &&
        figure.detail().starts_with("no measurement of this chip"))
      return "no kernel of this GPU type was measured: compare its times with those of other types "
             "with care";
  return "";
}

std::string SmallDatasetNote(const v1::Plan& plan) {
  const v1::Predictions& predictions = plan.predictions();
  const double samples = static_cast<double>(plan.subject().sample_count());
  const double step = predictions.samples_per_step() > 0
                          ? predictions.samples_per_step()
                          : static_cast<double>(plan.subject().global_batch_samples());
  if (samples <= 0 || samples >= step) return "";
  return fmt::format(
      "the dataset has {}, fewer than the {} of one step{}",
      Counted(plan.subject().sample_count(), "sample"), Significant(step),
      predictions.holed_steps() > 0 ? ": some ranks lack a pack and run a zero-weight dummy" : "");
}

std::string OversizeNote(const v1::Plan& plan) {
  const int64_t oversize = plan.batch_rule().oversize_sample_count();
  if (oversize <= 0) return "";
  const std::string of = Counted(plan.subject().sample_count(), "sample");
  if (oversize == 1) return fmt::format("1 of {} exceeds a cap, so it is alone in its pack", of);
  return fmt::format("{} of {} exceed a cap, so each of them is alone in its pack",
                     Integer(oversize), of);
}

// Notes a feature that the job asks for and its trainer lacks.
std::string BeyondTrainerNote(const v1::Plan& plan) {
  for (const v1::FigureBasis& figure : plan.provenance().figures())
    if (figure.figure() == "training.trainer_limits")
      return "the job asks for more than its trainer can do: " + figure.detail() +
             "; `evenkeelctl launch` says what it runs instead";
  return "";
}

// Notes the cost of the trainer's limits.
std::string LimitsNote(const v1::Plan& plan) {
  constexpr double kWorthSaying = 0.03;
  if (plan.trainer_limits_cost_ratio() < kWorthSaying) return "";
  return fmt::format(
      "the trainer's limits in recompute and pipeline (`evenkeelctl trainers`) cost at least {}; "
      "--trainer unlimited gives the plan without them, which no trainer runs",
      Percent(plan.trainer_limits_cost_ratio()));
}

// Notes packing groups where the trainer was chosen: none changes its degrees between steps.
std::string GroupsNote(const v1::Plan& plan) {
  if (!plan.has_group_choice() || plan.subject().trainer().name() == "unlimited") return "";
  return "packing groups need a trainer that changes its degrees from step to step. No trainer in "
         "`evenkeelctl trainers` can; --groups one gives a plan that they can run";
}

// Notes groups that share the states where they are smaller than the job asks for.
std::string ZeroGroupNote(const v1::Plan& plan) {
  const int asked = plan.subject().zero_group();
  const int copies = plan.parallelism().data() * plan.parallelism().context();
  if (asked == 0 || copies == 0 || copies % asked == 0) return "";
  const int64_t group = planner::LargestDivisor(copies, asked);
  return fmt::format(
      "the states are shared by groups of {}, not {}: {}", Counted(group, "rank"), Integer(asked),
      asked > copies ? fmt::format("only {} hold copies of a weight", Integer(copies))
                     : fmt::format("{} does not divide the {} ranks that hold copies of a weight",
                                   Integer(asked), Integer(copies)));
}

std::string DeadlineNote(const v1::Plan& plan) {
  const double deadline = plan.subject().objective().deadline_seconds();
  const double late = FinishSeconds(plan) - deadline;
  if (deadline <= 0 || plan.has_misfit() || late <= 0) return "";
  return fmt::format("the deadline is missed: training takes {}, {} more than {}",
                     Duration(FinishSeconds(plan)), Duration(late), Duration(deadline));
}

}  // namespace

bool MissesBatch(double asked, double samples) {
  return asked > 0 && samples > 0 && std::fabs(samples / asked - 1) > kBatchTolerance;
}

double FinishSeconds(const v1::Plan& plan) {
  const v1::Predictions& predictions = plan.predictions();
  if (predictions.has_goodput()) return predictions.goodput().finish_seconds();
  return predictions.epoch_seconds() * std::max(1, plan.subject().epochs());
}

std::vector<std::string> PlanNotes(const v1::Plan& plan) {
  std::vector<std::string> notes;
  for (std::string& note : std::vector<std::string>{
           TrainerNote(plan), ChipNote(plan), BatchNote(plan), SmallDatasetNote(plan),
           OversizeNote(plan), BeyondTrainerNote(plan), LimitsNote(plan), GroupsNote(plan),
           ZeroGroupNote(plan), DeadlineNote(plan)}) {
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

std::string RenderNotes(const Style& style, const v1::Plan& plan) {
  std::string text;
  for (const std::string& note : PlanNotes(plan)) {
    text +=
        Paragraph(style, Paint(style, Tone::kWarn, "note") + ": " + Plain(style, note) + ".", 0);
  }
  return text;
}

}  // namespace evenkeel::cli
