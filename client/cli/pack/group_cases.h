// The cases of a report on packing groups.
#ifndef EVENKEEL_CLIENT_CLI_PACK_GROUP_CASES_H_
#define EVENKEEL_CLIENT_CLI_PACK_GROUP_CASES_H_

#include <vector>

#include "client/cli/base/progress.h"
#include "client/cli/dataset/packed_dataset.h"
#include "client/cli/dataset/sample_lengths.h"
#include "client/cli/pack/report_case.h"

namespace evenkeel::cli {

// Returns one group for all samples (OneGroupJob), then these packs in random order (unless theirs
// is random), then `packed`.
std::vector<ReportCase> GroupCases(const PackedDataset& packed, const SampleLengths& samples,
                                   const v1::PackDatasetStart& start, Progress* progress);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_GROUP_CASES_H_
