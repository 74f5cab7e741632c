#include "client/cli/render/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"

namespace evenkeel::cli {
namespace {

// Returns "+3.1%", or "-" if there is nothing to compare with.
std::string Change(double ours, double yours) {
  if (!(ours > 0) || !(yours > 0)) return "-";
  const double change = yours / ours - 1;
  const std::string text = Percent(std::abs(change));
  if (std::abs(change) < 5e-5) return "same";
  return (change < 0 ? "-" : "+") + text;
}

std::string Verdict(const Style& style, const v1::EvaluatePlanResponse& response) {
  const v1::Plan& yours = response.evaluated();
  if (yours.has_misfit()) {
    return Paint(style, Tone::kBad,
                 fmt::format("Your plan does not fit: {} on stage {}.", ShortText(yours.misfit()),
                             yours.misfit().stage_index()));
  }
  if (!response.has_slower_by_ratio() && !response.best().has_misfit())
    return Paint(
        style, Tone::kGood,
        "Your plan fits. It has packing groups: the figures are those of steps of the last "
        "one, and do not compare with those of a whole plan.");
  if (!response.has_slower_by_ratio())
    return Paint(style, Tone::kGood,
                 "Your plan fits. The planner found no plan that fits under its own constraints.");
  const double slower = response.slower_by_ratio();
  if (std::abs(slower) < 5e-5)
    return Paint(style, Tone::kGood, "Your plan fits, and takes as many GPU-days as ours.");
  if (slower < 0) {
    return Paint(
        style, Tone::kGood,
        fmt::format("Your plan fits, and takes {} fewer GPU-days than ours.", Percent(-slower)));
  }
  return Paint(
      style, Tone::kWarn,
      fmt::format("Your plan fits, and takes {} more GPU-days than ours.", Percent(slower)));
}

std::string CapsText(const v1::BatchRule& rule) {
  const std::string tokens = Integer(rule.token_cap()) + " tokens";
  return rule.unit_cap() > 0 ? Integer(rule.unit_cap()) + " units, " + tokens : tokens;
}

std::string LeastFree(const v1::Plan& plan) {
  if (plan.stages_size() == 0) return "-";
  int64_t least = plan.stages(0).free_bytes();
  for (const v1::Stage& stage : plan.stages()) least = std::min(least, stage.free_bytes());
  return Gib(least) + " GiB";
}

class Comparison {
 public:
  Comparison(const Style& style, const v1::Plan& yours, const v1::Plan& ours)
      : style_(style),
        yours_(yours),
        ours_(ours),
        table_({{"", Align::kLeft}, {"yours"}, {"ours"}, {"change"}}) {}

  std::string Render() {
    Text("tensor x pipeline x data",
         [](const v1::Plan& plan) { return SplitText(plan.parallelism()); });
    Text("schedule", ScheduleText);
    Text("pack cap", [](const v1::Plan& plan) { return CapsText(plan.batch_rule()); });
    Text("packs per rank and step",
         [](const v1::Plan& plan) { return Integer(plan.predictions().micro_batches()); });
    Text("recomputed layers", [](const v1::Plan& plan) { return Integer(RecomputedLayers(plan)); });
    Text("fullest stage has free", LeastFree);
    AddStep();
    const auto figure = [](const v1::Plan& plan) { return plan.predictions(); };
    Figure("tokens/s", figure(yours_).llm_tokens_per_second(),
           figure(ours_).llm_tokens_per_second(),
           [](double value) { return Integer(static_cast<int64_t>(value)); });
    Figure("samples per step", figure(yours_).samples_per_step(), figure(ours_).samples_per_step(),
           Significant);
    Figure("MFU", figure(yours_).mfu(), figure(ours_).mfu(), Percent);
    Figure("GPU-days", figure(yours_).gpu_days(), figure(ours_).gpu_days(), Significant);
    Figure("training, with failures", figure(yours_).goodput().finish_seconds(),
           figure(ours_).goodput().finish_seconds(), Duration);
    Figure("cost", figure(yours_).cost(), figure(ours_).cost(),
           [](double value) { return Decimal(value, 2); });
    return Section(style_, "Your plan and ours",
                   "predicted by the same model; change from ours to yours") +
           table_.Render(style_);
  }

 private:
  template <typename Cell>
  void Text(const char* name, Cell cell) {
    const bool fits = !ours_.has_misfit();
    table_.Add({name, cell(yours_), fits ? cell(ours_) : "no fit", ""});
  }

  // Adds a row, unless neither plan has a value.
  template <typename Format>
  void Figure(const char* name, double yours, double ours, Format format) {
    if (!(yours > 0) && !(ours > 0)) return;
    table_.Add({name, yours > 0 ? format(yours) : "-", ours > 0 ? format(ours) : "-",
                Change(ours, yours)});
  }

  void AddStep() {
    const v1::StepTime& yours = yours_.predictions().step();
    const v1::StepTime& ours = ours_.predictions().step();
    const std::pair<const char*, double (v1::StepTime::*)() const> parts[] = {
        {"encoder compute", &v1::StepTime::encoder_compute_seconds},
        {"language compute", &v1::StepTime::language_compute_seconds},
        {"recompute", &v1::StepTime::recompute_seconds},
        {"communication in layers", &v1::StepTime::tensor_communication_seconds},
        {"pipeline bubble", &v1::StepTime::pipeline_bubble_seconds},
        {"imbalance of packs", &v1::StepTime::imbalance_seconds},
        {"data-parallel sync", &v1::StepTime::data_sync_seconds},
        {"optimizer", &v1::StepTime::optimizer_seconds},
        {"step", &v1::StepTime::total_seconds}};
    constexpr double kWorthShowing = 1e-4;  // of the step
    for (const auto& [name, part] : parts) {
      if ((yours.*part)() < kWorthShowing * yours.total_seconds() &&
          (ours.*part)() < kWorthShowing * ours.total_seconds())
        continue;
      Figure(name, (yours.*part)(), (ours.*part)(), Duration);
    }
  }

  const Style& style_;
  const v1::Plan& yours_;
  const v1::Plan& ours_;
  Table table_;
};

}  // namespace

std::string RenderComparison(const Style& style, const v1::EvaluatePlanResponse& response) {
  return Comparison(style, response.evaluated(), response.best()).Render();
}

std::string RenderEvaluation(const Style& style, const v1::EvaluatePlanResponse& response,
                             const std::string& computed_by) {
  const v1::Plan& yours = response.evaluated();
  const v1::PlanSubject& subject = yours.subject();
  std::string text = Paint(style, Tone::kBold,
                           Plain(style, fmt::format("{} on {} x {}", subject.model(),
                                                    subject.gpu_count(), subject.gpu_type()))) +
                     "\n" + Paragraph(style, Verdict(style, response), 0) + "\n";
  text += NameValues(style,
                     {{"yours", "evaluated, " + computed_by}, {"ours", response.best().plan_id()}});
  text += RenderComparison(style, response);
  if (yours.has_misfit())
    text += Section(style, "Why yours does not fit") +
            Paragraph(style, Plain(style, MisfitText(yours.misfit())));
  return text + RenderStages(style, yours) + RenderStageTimes(style, yours) +
         RenderStageMemory(style, yours);
}

std::string RenderWritten(const Style& style, const std::vector<std::string>& written) {
  std::string text;
  for (const std::string& line : written) text += Paragraph(style, Plain(style, line), 2);
  return written.empty() ? text : Section(style, "Written") + text;
}

}  // namespace evenkeel::cli
