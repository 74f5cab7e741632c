// What the report of `pack` shows: this packing beside what training does without it.
#ifndef EVENKEEL_CLIENT_CLI_PACK_REPORT_DATA_H_
#define EVENKEEL_CLIENT_CLI_PACK_REPORT_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/pack/packed_dataset.h"
#include "client/cli/pack/step_ratios.h"
#include "client/cli/progress.h"
#include "client/cli/sample_lengths.h"
#include "planner/packing/deal.h"
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
  double pad_ratio = 0;                  // if micro-batches were padded to their longest sample
  double unit_fill = 0, token_fill = 0;  // means over the caps
  int64_t over_caps = 0;                 // packs of several samples beyond a cap
  double communication_ratio = 0;        // CR, with packing groups

  // DistRatio of each step in the order of training; the holed one is left out.
  std::vector<double> vision_steps, language_steps, attention_steps;
};

struct ReportData {
  bool has_units = false;
  bool has_times = false;  // language and vision are predicted times, not tokens and units
  int64_t unit_cap = 0, token_cap = 0;
  std::vector<ReportCase> cases;    // before, ..., the packing itself
  std::vector<int32_t> step_group;  // of its steps; empty without packing groups
};

// Compares random micro-batches of the same mean sample count in random order, then ISF at these
// caps in random order (unless the packing is ISF's), then `packed`; with packing groups, those of
// GroupCases. `packed` must hold its packs.
ReportData MakeReportData(const PackedDataset& packed, const SampleLengths& samples,
                          const v1::PackDatasetStart& start, Progress* progress);

// Names and marks the packing itself, the same way everywhere. A part of MakeReportData.
void NameOurs(const v1::PackDatasetSummary& summary, ReportCase* made);
// Fills in the ratios of steps from `order` and made->packs. A part of MakeReportData.
void FillStepRatios(const std::vector<int64_t>& order, const std::vector<StepShape>& steps,
                    const std::vector<planner::PackWork>& work, ReportCase* made);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_REPORT_DATA_H_
