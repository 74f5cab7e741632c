// Packing groups in the report of `pack`.
#ifndef EVENKEEL_CLIENT_CLI_PACK_GROUP_SECTIONS_H_
#define EVENKEEL_CLIENT_CLI_PACK_GROUP_SECTIONS_H_

#include <string>

#include "client/cli/pack/report_data.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

// HTML; empty without groups. What each group is and does.
std::string GroupTableSection(const v1::PackDatasetSummary& summary);

// What packs hold: those of one group for all samples, and of each group.
std::string GroupPackSection(const ReportData& data, const v1::PackDatasetSummary& summary);

// Step by step, which group it is; empty without groups.
std::string GroupStepSection(const ReportData& data, const v1::PackDatasetSummary& summary);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_GROUP_SECTIONS_H_
