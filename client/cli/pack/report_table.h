// The part below the charts of the report of `pack`.
#ifndef EVENKEEL_CLIENT_CLI_PACK_REPORT_TABLE_H_
#define EVENKEEL_CLIENT_CLI_PACK_REPORT_TABLE_H_

#include <string>

#include "client/cli/pack/report_data.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

// Returns the cases in figures, as HTML.
std::string CaseTable(const ReportData& data, const v1::BatchRule& rule);

// Returns HTML that explains the figures and lists other results of the packing.
std::string ReportNotes(const ReportData& data, const v1::PackDatasetSummary& summary);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_REPORT_TABLE_H_
