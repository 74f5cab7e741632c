// One column of the report of `pack`.
#ifndef EVENKEEL_CLIENT_CLI_PACK_REPORT_CASE_H_
#define EVENKEEL_CLIENT_CLI_PACK_REPORT_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/dataset/packed_dataset.h"
#include "client/cli/pack/step_ratios.h"
#include "planner/packing/deal_rule.h"
#include "planner/packing/metrics.h"
#include "planner/packing/packing.h"

namespace evenkeel::cli {

// One way to make micro-batches and to deal them.
struct ReportCase {
  std::string name;        // "Random"
  std::string order_text;  // "random order"
  std::string style;       // class of its marks: "random", "isf" or "ours"
  std::vector<planner::PackSums> packs;
  planner::Balance balance;
  double samples_per_pack = 0;
  double pad_ratio = 0;                  // if padded to each micro-batch's longest sample
  double unit_fill = 0, token_fill = 0;  // means over the caps
  int64_t over_caps = 0;                 // packs of several samples beyond a cap
  double communication_ratio = 0;        // CR, with packing groups

  // DistRatio of each step in the order of training. The holed step is left out.
  std::vector<double> vision_steps, language_steps, attention_steps;
};

// Sets the name and mark of the packing itself, which are the same everywhere.
void NameOurs(const v1::PackDatasetSummary& summary, ReportCase* made);
// Fills in the ratios of the steps from `order` and made->packs.
void FillStepRatios(const std::vector<int64_t>& order, const std::vector<StepShape>& steps,
                    const std::vector<planner::PackWork>& work, ReportCase* made);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_REPORT_CASE_H_
