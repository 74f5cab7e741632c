// Packing groups in the report of `pack`.
#ifndef EVENKEEL_CLIENT_CLI_PACK_GROUP_SECTIONS_H_
#define EVENKEEL_CLIENT_CLI_PACK_GROUP_SECTIONS_H_

#include <string>

#include "client/cli/pack/report_data.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

// Returns HTML that explains each group; empty without groups.
std::string GroupTableSection(const v1::PackDatasetSummary& summary);

// Returns HTML that shows the content of packs: of those with one group for all samples, and of
// each group's.
std::string GroupPackSection(const ReportData& data, const v1::PackDatasetSummary& summary);

// Returns HTML that shows the group of each step; empty without groups.
std::string GroupStepSection(const ReportData& data, const v1::PackDatasetSummary& summary);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_GROUP_SECTIONS_H_
