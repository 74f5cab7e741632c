// What other ways to make micro-batches would come to, beside a packing.
#ifndef EVENKEEL_CLIENT_CLI_PACK_COMPARE_H_
#define EVENKEEL_CLIENT_CLI_PACK_COMPARE_H_

#include <string>

#include "client/cli/sample_lengths.h"
#include "client/cli/text.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

// A table, by the planner in this process: padded orders with as many samples per micro-batch as
// the packs have, every packer under the same caps in random order, ISF at the caps of OmniBal's
// argument search, and the packing itself. `start` with the caps as carried out.
std::string RenderComparison(const Style& style, const v1::PackDatasetSummary& summary,
                             const SampleLengths& samples, const v1::PackDatasetStart& start);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_COMPARE_H_
