// The data of the report of `pack`: this packing compared with training without it.
#ifndef EVENKEEL_CLIENT_CLI_PACK_REPORT_DATA_H_
#define EVENKEEL_CLIENT_CLI_PACK_REPORT_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/base/progress.h"
#include "client/cli/dataset/packed_dataset.h"
#include "client/cli/dataset/sample_lengths.h"
#include "client/cli/pack/report_case.h"
#include "planner/packing/deal.h"
#include "planner/packing/metrics.h"
#include "planner/packing/packing.h"

namespace evenkeel::cli {

struct ReportData {
  bool has_units = false;
  bool has_times = false;  // language and vision are predicted times, not tokens and units
  int64_t unit_cap = 0, token_cap = 0;
  std::vector<ReportCase> cases;    // from the baseline to the packing itself
  std::vector<int32_t> step_group;  // group of each of its steps; empty without packing groups
};

// Compares random micro-batches of the same mean sample count in random order, ISF at these caps in
// random order (unless the packing is ISF's), and `packed`. With packing groups, it compares the
// cases of GroupCases. `packed` must hold its packs.
ReportData MakeReportData(const PackedDataset& packed, const SampleLengths& samples,
                          const v1::PackDatasetStart& start, Progress* progress);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_REPORT_DATA_H_
