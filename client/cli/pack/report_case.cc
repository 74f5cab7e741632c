#include "client/cli/pack/report_case.h"

#include "client/cli/base/text.h"
#include "client/cli/job/option_names.h"

namespace evenkeel::cli {

void NameOurs(const v1::PackDatasetSummary& summary, ReportCase* made) {
  const int64_t window = summary.rule().order_window();
  made->name = "This packing";
  made->order_text = PackerName(summary.rule().packer());
  made->order_text += window <= 1                      ? ", random order"
                      : window >= summary.step_count() ? ", window all"
                                                       : ", window " + Integer(window);
  made->style = "ours";
}

void FillStepRatios(const std::vector<int64_t>& order, const std::vector<StepShape>& steps,
                    const std::vector<planner::PackWork>& work, ReportCase* made) {
  made->vision_steps =
      StepRatios(order, steps, [&](size_t p) { return static_cast<double>(work[p].vision); });
  made->language_steps =
      StepRatios(order, steps, [&](size_t p) { return static_cast<double>(work[p].language); });
  made->attention_steps = StepRatios(
      order, steps, [&](size_t p) { return static_cast<double>(made->packs[p].squared); });
}

}  // namespace evenkeel::cli
