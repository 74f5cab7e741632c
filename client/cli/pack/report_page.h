// The report of `pack`: one self-contained HTML file, for light and dark screens and for paper.
#ifndef EVENKEEL_CLIENT_CLI_PACK_REPORT_PAGE_H_
#define EVENKEEL_CLIENT_CLI_PACK_REPORT_PAGE_H_

#include <string>

#include "client/cli/dataset/sample_lengths.h"
#include "client/cli/pack/report_data.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

// Renders the page. The result depends only on the arguments, not on date or machine.
std::string RenderReport(const ReportData& data, const v1::PackDatasetSummary& summary,
                         const v1::PackDatasetStart& start, const SampleLengths& samples);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_REPORT_PAGE_H_
