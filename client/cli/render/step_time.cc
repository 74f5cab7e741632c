// Shows where the time of a step goes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"

namespace evenkeel::cli {

std::string StepSumText(const v1::Plan& plan) {
  const v1::StepTime& step = plan.predictions().step();
  if (step.imbalance_seconds() < 0.001 * step.total_seconds()) return "";
  return fmt::format("The simulated step takes {} with mean {}. Unequal {} add {} (imbalance).",
                     Duration(step.total_seconds() - step.imbalance_seconds()), PacksName(plan),
                     PacksName(plan), Duration(step.imbalance_seconds()));
}

std::string RenderStepTime(const Style& style, const v1::Plan& plan) {
  const v1::StepTime& step = plan.predictions().step();
  if (step.total_seconds() <= 0) return "";
  const std::vector<std::pair<std::string, double>> parts = {
      {"encoder compute", step.encoder_compute_seconds()},
      {"language compute", step.language_compute_seconds()},
      {"recompute", step.recompute_seconds()},
      {"communication in layers", step.tensor_communication_seconds()},
      {"pipeline bubble", step.pipeline_bubble_seconds()},
      {"imbalance of " + PacksName(plan), step.imbalance_seconds()},
      {"data-parallel sync", step.data_sync_seconds()},
      {"optimizer", step.optimizer_seconds()}};
  const int width = std::max(10, style.width - 50);
  constexpr double kWorthShowing = 1e-4;  // of the step
  double largest = 0;
  for (const auto& [name, seconds] : parts) largest = std::max(largest, seconds);
  Table table({{"part", Align::kLeft}, {"time"}, {"share"}, {"", Align::kLeft}});
  for (const auto& [name, seconds] : parts) {
    if (seconds < kWorthShowing * step.total_seconds()) continue;
    table.Add({name, Duration(seconds), Percent(seconds / step.total_seconds()),
               Bar(style, largest > 0 ? seconds / largest : 0, width)});
  }
  const double correction = step.measured_correction_seconds();
  if (correction != 0) {
    const std::string sign = correction < 0 ? "-" : "";
    table.Add({"as steps were measured", sign + Duration(std::abs(correction)),
               sign + Percent(std::abs(correction) / step.total_seconds()), ""});
  }
  table.Add({"step", Duration(step.total_seconds()), "100%", ""});
  const v1::Predictions& predictions = plan.predictions();
  std::string remark =
      fmt::format("mean over the stages; {} tokens/s, an epoch takes {}",
                  Integer(static_cast<int64_t>(predictions.llm_tokens_per_second())),
                  Duration(predictions.epoch_seconds()));
  if (predictions.cost() > 0) remark += ", cost " + Decimal(predictions.cost(), 2);
  const std::string sum = StepSumText(plan);
  return Section(style, "Step time", remark) + table.Render(style) +
         (sum.empty() ? "" : Paragraph(style, sum));
}

}  // namespace evenkeel::cli
